#include "backends/cpu/panel_matrix.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backends/cpu/numa_memory.h"
#include "backends/cpu/threads.h"
#include "tensor/quantize.h"

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

int32_t bits_of(DType dtype) {
  return dtype == DType::kI8 ? 8 : dtype == DType::kU8 ? 4 : 0;
}

// The integers of one column's part of a group as bytes without sign, at their places among 32
// columns; `to` was zero.
void fill_column_8(const std::byte* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i / 4 * kPanelColumns * 4 + i % 4] = from[i] ^ std::byte{0x80};
  }
}

void fill_column_4(const std::byte* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const std::byte code = (i % 2 == 0 ? from[i / 2] : from[i / 2] >> 4) & std::byte{15};
    to[i / 8 * kPanelColumns * 4 + i % 4] |= code << (i / 4 % 2 * 4);
  }
}

// A panel of integers: group after group, each with its scales.
void fill_quantized_panel(const SourceRow* columns, int64_t K, int32_t bits, std::byte* panel) {
  const int64_t group_size = quantization_group(bits);
  const int64_t groups = (K + group_size - 1) / group_size;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t k = g * group_size;
    const int64_t count = std::min(group_size, K - k);
    const int64_t code_bytes = round_up(count, kPanelKStep) * kPanelColumns * bits / 8;
    for (int64_t c = 0; c < kPanelColumns; ++c) {
      if (columns[c].view == nullptr) {
        continue;
      }
      const TensorView& view = *columns[c].view;
      const int64_t row = columns[c].row;
      (bits == 8 ? fill_column_8 : fill_column_4)(view.data + (row * K + k) * bits / 8, count,
                                                  panel + c * 4);
      std::memcpy(panel + code_bytes + c * 2, view.quantization.scales + (row * groups + g) * 2, 2);
    }
    panel += code_bytes + kPanelScaleBytes;
  }
}

}  // namespace

static_assert(kInt8Group == quantization_group(8) && kInt4Group == quantization_group(4));

int64_t panel_offset(DType dtype, int64_t k) {
  const int32_t bits = bits_of(dtype);
  if (bits == 0) {
    return k * kPanelColumns * dtype_size(dtype);
  }
  const int64_t group_size = quantization_group(bits);
  return round_up(k, kPanelKStep) * kPanelColumns * bits / 8 +
         (k + group_size - 1) / group_size * kPanelScaleBytes;
}

DType panel_dtype(const CpuContext& context, DType source) {
  if (bits_of(source) != 0) {
    return source;
  }
  return context.compute_dtype == DType::kBF16 || source == DType::kBF16 ? DType::kBF16
                                                                         : DType::kF32;
}

Result<void> join_panel_dtype(const CpuContext& context, DType source,
                              std::optional<DType>& joined) {
  const DType dtype = panel_dtype(context, source);
  if (!joined) {
    joined = dtype;
  } else if (bits_of(*joined) != bits_of(dtype)) {
    return invalid("weights that are used together must all be quantised alike, or none");
  } else if (dtype == DType::kF32) {
    joined = dtype;
  }
  return {};
}

Result<PanelMatrix> make_panels(CpuContext& context, int64_t panels, int64_t K, DType dtype,
                                FunctionRef<SourceRow(int64_t)> row_of, int64_t experts) {
  PanelMatrix matrix;
  matrix.K = K;
  matrix.panels = panels;
  matrix.panel_bytes = panel_offset(dtype, round_up(K, kPanelKStep));
  matrix.dtype = dtype;
  Result<HugeBuffer> data = HugeBuffer::allocate(static_cast<size_t>(panels * matrix.panel_bytes));
  if (!data) {
    return std::unexpected(data.error());
  }
  matrix.data = std::move(*data);
  const ThreadPlacement& placement = context.placement;
  const auto panels_of = [&](int32_t part) -> IndexRange {
    const IndexRange share = placement.share(panels / experts, part);
    return {share.begin * experts, share.end * experts};
  };
  for (int32_t part = 0; placement.active() && part < placement.num_parts(); ++part) {
    const IndexRange own = panels_of(part);
    prefer_node(matrix.data.data() + own.begin * matrix.panel_bytes,
                static_cast<size_t>((own.end - own.begin) * matrix.panel_bytes),
                placement.nodes[static_cast<size_t>(part)].node);
  }
  const int64_t step_bytes = kPanelKStep * kPanelColumns * dtype_size(dtype);
  const auto fill = [&](IndexRange own) {
    for (int64_t p = own.begin; p < own.end; ++p) {
      SourceRow columns[kPanelColumns];
      for (int64_t c = 0; c < kPanelColumns; ++c) {
        columns[c] = row_of(p * kPanelColumns + c);
      }
      std::byte* step = matrix.data.data() + p * matrix.panel_bytes;
      if (bits_of(dtype) != 0) {
        fill_quantized_panel(columns, K, bits_of(dtype), step);
        continue;
      }
      for (int64_t k = 0; k < K; k += kPanelKStep, step += step_bytes) {
        (dtype == DType::kBF16 ? fill_step_bf16 : fill_step_f32)(columns, K, k, step);
      }
    }
  };
  parallel_region(context.threads, [&](const Team& team) {
    // A team may be smaller than asked for (OMP_THREAD_LIMIT); shares are those of the full one.
    for (int32_t thread = team.thread; thread < context.threads; thread += team.size) {
      fill(placement.thread_share(panels_of(placement.part_of(thread)), thread));
    }
  });
  return matrix;
}

const MatrixKernels& matrix_kernels(const CpuContext& context, DType panel_dtype) {
  const bool bf16 = context.compute_dtype == DType::kBF16;
  if (panel_dtype == DType::kI8) {
    return bf16 ? context.kernels->int8 : context.kernels->f32_int8;
  }
  if (panel_dtype == DType::kU8) {
    return bf16 ? context.kernels->int4 : context.kernels->f32_int4;
  }
  if (bf16) {
    return context.kernels->bf16;
  }
  return panel_dtype == DType::kBF16 ? context.kernels->f32_bf16 : context.kernels->f32;
}

Result<void> check_matrix(const TensorView& view, int64_t columns) {
  const Quantization& quantization = view.quantization;
  if (view.is_quantized()) {
    if (bits_of(view.dtype) != quantization.bits ||
        quantization.group_size != quantization_group(quantization.bits)) {
      return invalid(fmt::format("the CPU backend has no kernel for {} bits in groups of {}",
                                 quantization.bits, quantization.group_size));
    }
  } else if (view.dtype != DType::kF32 && view.dtype != DType::kBF16 && view.dtype != DType::kF16) {
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
