#include "backends/cpu/panel_matrix.h"

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

uint16_t load_bf16(const TensorView& view, int64_t index) {
  if (view.dtype == DType::kBF16) {
    uint16_t bits = 0;
    std::memcpy(&bits, view.data + index * 2, sizeof(bits));
    return bits;
  }
  return to_bfloat16(load_float(view, index)).bits;
}

void fill_column_bf16(const SourceRow& source, int64_t K, int64_t column, uint16_t* panel) {
  uint16_t* to = panel + column / kTileColumns * 512 + column % kTileColumns * 2;
  const int64_t first = source.row * K;
  for (int64_t k = 0; k < K; ++k) {
    to[k / 32 * 1024 + k % 32 / 2 * 32 + k % 2] = load_bf16(*source.view, first + k);
  }
}

void fill_column_f32(const SourceRow& source, int64_t K, int64_t column, float* panel) {
  const int64_t first = source.row * K;
  for (int64_t k = 0; k < K; ++k) {
    panel[k * kPanelColumns + column] = load_float(*source.view, first + k);
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
  parallel_for(context.threads, panels, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t c = begin * kPanelColumns; c < end * kPanelColumns; ++c) {
      const SourceRow source = row_of(c);
      if (source.view == nullptr) {
        continue;
      }
      std::byte* panel = matrix.data.data() + c / kPanelColumns * matrix.panel_bytes;
      if (dtype == DType::kBF16) {
        fill_column_bf16(source, K, c % kPanelColumns, reinterpret_cast<uint16_t*>(panel));
      } else {
        fill_column_f32(source, K, c % kPanelColumns, reinterpret_cast<float*>(panel));
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
