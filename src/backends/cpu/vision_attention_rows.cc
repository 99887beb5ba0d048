// See vision_attention_rows.h. A row's softmax goes over its keys in blocks in ascending order;
// every sum has one fixed order.
#include "backends/cpu/vision_attention_rows.h"

#include "backends/cpu/isa/kernel_table.h"
#include "backends/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/vision_attention_rows.cc"
#include <hwy/foreach_target.h>
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

template <typename X>
HWY_INLINE void softmax_row(const VisionSoftmaxTile& tile, int64_t r) {
  const FullF32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t panels = (tile.keys + kPanelColumns - 1) / kPanelColumns;
  const auto panel_of = [&](int64_t p) {
    return tile.scores + (p * tile.rows + r) * kPanelColumns;
  };
  for (int64_t key = tile.keys; key < panels * kPanelColumns; ++key) {
    panel_of(panels - 1)[key % kPanelColumns] = -std::numeric_limits<float>::infinity();
  }
  const auto scale = hn::Set(d, tile.scale);
  SoftmaxState& state = tile.states[r];
  auto largest = hn::Set(d, state.largest);
  for (int64_t p = 0; p < panels; ++p) {
    for (int64_t i = 0; i < kPanelColumns; i += lanes) {
      largest = hn::Max(largest, hn::Mul(hn::LoadU(d, panel_of(p) + i), scale));
    }
  }
  const auto shift = hn::MaxOfLanes(d, largest);
  X* weights = static_cast<X*>(tile.weights) + r * kVisionKeyBlock;
  auto sum = hn::Zero(d);
  for (int64_t p = 0; p < panels; ++p) {
    for (int64_t i = 0; i < kPanelColumns; i += lanes) {
      const auto score = hn::Mul(hn::LoadU(d, panel_of(p) + i), scale);
      const auto weight = exp(d, hn::Sub(score, shift));
      sum = hn::Add(sum, weight);
      store_x(d, weight, weights + p * kPanelColumns + i);
    }
  }
  const OneF32 one;
  const float now = hn::GetLane(shift);
  tile.rescale[r] = hn::GetLane(exp(one, hn::Set(one, state.largest - now)));
  state.sum = state.sum * tile.rescale[r] + hn::GetLane(hn::SumOfLanes(d, sum));
  state.largest = now;
}

void vision_softmax(DType x_dtype, const VisionSoftmaxTile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    if (x_dtype == DType::kF32) {
      softmax_row<float>(tile, r);
    } else {
      softmax_row<uint16_t>(tile, r);
    }
  }
}

template <typename X>
HWY_INLINE void finish_rows(const float* sums, int64_t rows, int64_t head_dim,
                            const SoftmaxState* states, X* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float inverse = 1.0F / states[r].sum;
    for (int64_t first = 0; first < head_dim; first += kPanelColumns) {
      const float* from = sums + (first / kPanelColumns * rows + r) * kPanelColumns;
      X* to = out + r * out_stride + first;
      for_each_vector(std::min(kPanelColumns, head_dim - first), [&](auto d, int64_t i) HWY_ATTR {
        store_x(d, hn::Mul(hn::LoadU(d, from + i), hn::Set(d, inverse)), to + i);
      });
    }
  }
}

void vision_finish(DType x_dtype, const float* sums, int64_t rows, int64_t head_dim,
                   const SoftmaxState* states, void* out, int64_t out_stride) {
  if (x_dtype == DType::kF32) {
    finish_rows(sums, rows, head_dim, states, static_cast<float*>(out), out_stride);
  } else {
    finish_rows(sums, rows, head_dim, states, static_cast<uint16_t*>(out), out_stride);
  }
}

VisionAttentionFunctions vision_functions() {
  return {.softmax = vision_softmax, .finish = vision_finish};
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {
namespace {

constexpr int64_t kTileColumns = 16;  // of a bfloat16 panel's tiles of [16 pairs][16 columns][2]

int64_t round_up(int64_t value) {
  return (value + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
}

// Where element k of column c lies in a panel.
template <typename X>
int64_t panel_index(int64_t k, int64_t c) {
  if constexpr (sizeof(X) == sizeof(float)) {
    return k * kPanelColumns + c;
  } else {
    return k / kPanelKStep * kPanelKStep * kPanelColumns +
           c / kTileColumns * kPanelKStep * kTileColumns +
           (k % kPanelKStep / 2 * kTileColumns + c % kTileColumns) * 2 + k % 2;
  }
}

template <typename X>
void pack_keys(const VisionRows& keys, X* panels) {
  const int64_t panel_elements = round_up(keys.head_dim) * kPanelColumns;
  std::fill_n(panels, round_up(keys.count) * round_up(keys.head_dim), X{});
  for (int64_t key = 0; key < keys.count; ++key) {
    const X* row = static_cast<const X*>(keys.data) + key * keys.stride;
    X* panel = panels + key / kPanelColumns * panel_elements;
    for (int64_t i = 0; i < keys.head_dim; ++i) {
      panel[panel_index<X>(i, key % kPanelColumns)] = row[i];
    }
  }
}

template <typename X>
void pack_values(const VisionRows& values, X* panels) {
  const int64_t panel_elements = round_up(values.count) * kPanelColumns;
  std::fill_n(panels, round_up(values.count) * round_up(values.head_dim), X{});
  for (int64_t key = 0; key < values.count; ++key) {
    const X* row = static_cast<const X*>(values.data) + key * values.stride;
    for (int64_t i = 0; i < values.head_dim; ++i) {
      X* panel = panels + i / kPanelColumns * panel_elements;
      panel[panel_index<X>(key, i % kPanelColumns)] = row[i];
    }
  }
}

}  // namespace

void pack_vision_keys(DType x_dtype, const VisionRows& keys, void* panels) {
  if (x_dtype == DType::kF32) {
    pack_keys(keys, static_cast<float*>(panels));
  } else {
    pack_keys(keys, static_cast<uint16_t*>(panels));
  }
}

void pack_vision_values(DType x_dtype, const VisionRows& values, void* panels) {
  if (x_dtype == DType::kF32) {
    pack_values(values, static_cast<float*>(panels));
  } else {
    pack_values(values, static_cast<uint16_t*>(panels));
  }
}

VisionAttentionFunctions vision_attention_functions(CpuIsa isa) {
  return DS_SIMD_FUNCTION(isa, vision_functions)();
}

}  // namespace deltaserve
#endif
