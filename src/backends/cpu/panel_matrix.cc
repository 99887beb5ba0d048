#include "backends/cpu/panel_matrix.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backends/cpu/threads.h"

namespace deltaserve {
namespace {

constexpr int64_t kTileColumns = 16;

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

float load_float(const TensorView& view, int64_t index) {
  if (view.dtype == DType::kF32) {
    float value = 0.0F;
    std::memcpy(&value, view.data + index * 4, sizeof(value));
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, view.data + index * 2, sizeof(bits));
  return view.dtype == DType::kBF16 ? to_float(BFloat16{bits}) : half_to_float(bits);
}

// `count` (at most kPanelKStep) elements from k on of a source row as the panel's type; the rest of
// `to` stays as it is.
void load_elements(const SourceRow& source, int64_t K, int64_t k, int64_t count, uint16_t* to) {
  const TensorView& view = *source.view;
  const int64_t first = source.row * K + k;
  if (view.dtype == DType::kBF16) {
    std::memcpy(to, view.data + first * 2, static_cast<size_t>(count) * 2);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    to[i] = to_bfloat16(load_float(view, first + i)).bits;
  }
}

void load_elements(const SourceRow& source, int64_t K, int64_t k, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = load_float(*source.view, source.row * K + k + i);
  }
}

// One K step of a panel: 32 columns of 32, columns side by side. As pairs for bfloat16.
void fill_step_bf16(const SourceRow* columns, int64_t K, int64_t k, std::byte* step) {
  const int64_t count = std::min(kPanelKStep, K - k);
  for (int64_t c = 0; c < kPanelColumns; ++c) {
    if (columns[c].view == nullptr) {
      continue;
    }
    uint16_t elements[kPanelKStep] = {};
    load_elements(columns[c], K, k, count, elements);
    std::byte* to = step + c / kTileColumns * 1024 + c % kTileColumns * 4;
    for (int64_t p = 0; p < kPanelKStep / 2; ++p) {
      std::memcpy(to + p * kTileColumns * 4, elements + 2 * p, 4);
    }
  }
}

void fill_step_f32(const SourceRow* columns, int64_t K, int64_t k, std::byte* step) {
  const int64_t count = std::min(kPanelKStep, K - k);
  auto* to = reinterpret_cast<float*>(step);
  for (int64_t c = 0; c < kPanelColumns; ++c) {
    if (columns[c].view == nullptr) {
      continue;
    }
    float elements[kPanelKStep] = {};
    load_elements(columns[c], K, k, count, elements);
    for (int64_t i = 0; i < kPanelKStep; ++i) {
      to[i * kPanelColumns + c] = elements[i];
    }
  }
}

}  // namespace

DType panel_dtype(const CpuContext& context, DType source) {
  return context.compute_dtype == DType::kBF16 || source == DType::kBF16 ? DType::kBF16
                                                                         : DType::kF32;
}

Result<PanelMatrix> make_panels(CpuContext& context, int64_t panels, int64_t K, DType dtype,
                                FunctionRef<SourceRow(int64_t)> row_of) {
  PanelMatrix matrix;
  matrix.K = K;
  matrix.panels = panels;
  matrix.panel_bytes = round_up(K, kPanelKStep) * kPanelColumns * dtype_size(dtype);
  matrix.dtype = dtype;
  Result<HugeBuffer> data = HugeBuffer::allocate(static_cast<size_t>(panels * matrix.panel_bytes));
  if (!data) {
    return std::unexpected(data.error());
  }
  matrix.data = std::move(*data);
  const int64_t step_bytes = kPanelKStep * kPanelColumns * dtype_size(dtype);
  parallel_for(context.threads, panels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t p = begin; p < end; ++p) {
      SourceRow columns[kPanelColumns];
      for (int64_t c = 0; c < kPanelColumns; ++c) {
        columns[c] = row_of(p * kPanelColumns + c);
      }
      std::byte* step = matrix.data.data() + p * matrix.panel_bytes;
      for (int64_t k = 0; k < K; k += kPanelKStep, step += step_bytes) {
        (dtype == DType::kBF16 ? fill_step_bf16 : fill_step_f32)(columns, K, k, step);
      }
    }
  });
  return matrix;
}

const MatrixKernels& matrix_kernels(const CpuContext& context, DType panel_dtype) {
  if (context.compute_dtype == DType::kBF16) {
    return context.kernels->bf16;
  }
  return panel_dtype == DType::kBF16 ? context.kernels->f32_bf16 : context.kernels->f32;
}

Result<void> check_matrix(const TensorView& view, int64_t columns) {
  if (view.dtype != DType::kF32 && view.dtype != DType::kBF16 && view.dtype != DType::kF16) {
    return invalid(fmt::format("the CPU backend has no matrix kernel for weights in {}",
                               dtype_name(view.dtype)));
  }
  if (view.shape.size() != 2 || view.shape[0] <= 0 || view.shape[1] != columns || columns <= 0) {
    return invalid(fmt::format("a weight of shape [{}] where [rows, {}] is expected",
                               fmt::join(view.shape, ", "), columns));
  }
  return {};
}

}  // namespace deltaserve
