#include "backends/cuda/weight_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace deltaserve {
namespace {

// Rows begin on 16-byte borders in bfloat16.
constexpr int64_t kWidthMultiple = 8;

int64_t grouped_rows(int64_t I) {
  return 2 * ((I + kGateUpGroup - 1) / kGateUpGroup * kGateUpGroup);
}

Result<void> check_matrix(const TensorView& view) {
  if (view.dtype != DType::kF32 && view.dtype != DType::kBF16 && view.dtype != DType::kF16) {
    return invalid(
        fmt::format("a weight of dtype {} is not served; convert it to float32, bfloat16 or "
                    "float16",
                    dtype_name(view.dtype)));
  }
  if (view.shape.size() != 2) {
    return invalid(
        fmt::format("a weight of rank {} is not served; a matrix is expected", view.shape.size()));
  }
  if (view.shape[1] % kWidthMultiple != 0) {
    return invalid(
        fmt::format("the CUDA backend serves input widths that are multiples of {}, not "
                    "{}",
                    kWidthMultiple, view.shape[1]));
  }
  return {};
}

Result<void> check_shape(const TensorView& view, int64_t rows, int64_t columns) {
  if (Result<void> checked = check_matrix(view); !checked) {
    return checked;
  }
  if (view.shape[0] != rows || view.shape[1] != columns) {
    return invalid(fmt::format("a weight has shape [{}, {}], expected [{}, {}]", view.shape[0],
                               view.shape[1], rows, columns));
  }
  return {};
}

}  // namespace

Result<CudaMemory> WeightUploader::allocate(int64_t elements) {
  const auto bytes = static_cast<size_t>(elements * x_size());
  try {
    CudaMemory memory(bytes);
    check_cuda(cudaMemsetAsync(memory.data(), 0, bytes, context_.stream));
    return memory;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("{} has no {} bytes left for a weight", context_.device.name, bytes));
  }
}

void WeightUploader::rows(void* to, const TensorView& view, bool grouped, int64_t first_group) {
  const int64_t K = view.shape[1];
  if (view.dtype == context_.compute_dtype && !grouped) {
    ring_.to_device(to, view.data, static_cast<size_t>(view.num_bytes()));
    return;
  }
  const int64_t row_bytes = K * dtype_size(view.dtype);
  const int64_t piece_rows =
      std::max<int64_t>(1, static_cast<int64_t>(PinnedRing::kSlotBytes) / row_bytes);
  const auto needed = static_cast<size_t>(piece_rows * row_bytes);
  if (staging_.bytes() < needed) {
    check_cuda(cudaStreamSynchronize(context_.stream));
    staging_ = CudaMemory(needed);
  }
  for (int64_t first = 0; first < view.shape[0]; first += piece_rows) {
    const int64_t count = std::min(piece_rows, view.shape[0] - first);
    ring_.to_device(staging_.data(), view.data + first * row_bytes,
                    static_cast<size_t>(count * row_bytes));
    launch_place_rows(context_, to, staging_.data(), view.dtype, count, K,
                      {.grouped = grouped, .first_group = first_group, .first_row = first});
  }
}

Result<std::unique_ptr<LinearWeight>> WeightUploader::linear(std::span<const TensorView> parts) {
  if (parts.empty()) {
    return invalid("a linear weight needs at least one part");
  }
  auto weight = std::make_unique<CudaLinear>();
  for (const TensorView& part : parts) {
    if (Result<void> checked = check_matrix(part); !checked) {
      return std::unexpected(checked.error());
    }
    if (part.shape[1] != parts[0].shape[1]) {
      return invalid("stacked parts of a linear weight differ in their input width");
    }
    weight->N += part.shape[0];
  }
  weight->K = parts[0].shape[1];
  weight->bytes = weight->N * weight->K * x_size();
  const int64_t padded_rows = (weight->N + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
  Result<CudaMemory> values = allocate(padded_rows * weight->K);
  if (!values) {
    return std::unexpected(std::move(values.error()));
  }
  weight->values = std::move(*values);
  auto* to = static_cast<std::byte*>(weight->values.data());
  for (const TensorView& part : parts) {
    rows(to, part, false, 0);
    to += part.num_elements() * x_size();
  }
  return weight;
}

Result<std::unique_ptr<GateUpWeight>> WeightUploader::gate_up(const TensorView& gate,
                                                              const TensorView& up) {
  if (Result<void> checked = check_matrix(gate); !checked) {
    return std::unexpected(checked.error());
  }
  if (Result<void> checked = check_shape(up, gate.shape[0], gate.shape[1]); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<CudaGateUp>();
  weight->I = gate.shape[0];
  weight->K = gate.shape[1];
  const int64_t elements = grouped_rows(weight->I) * weight->K;
  weight->bytes = elements * x_size();
  Result<CudaMemory> values = allocate(elements);
  if (!values) {
    return std::unexpected(std::move(values.error()));
  }
  weight->values = std::move(*values);
  rows(weight->values.data(), gate, true, 0);
  rows(weight->values.data(), up, true, 1);
  return weight;
}

Result<std::unique_ptr<ExpertsWeight>> WeightUploader::experts(std::span<const TensorView> gate,
                                                               std::span<const TensorView> up,
                                                               std::span<const TensorView> down) {
  if (gate.empty() || gate.size() != up.size() || gate.size() != down.size()) {
    return invalid("experts need the same number of gate, up and down matrices, at least one");
  }
  if (Result<void> checked = check_matrix(gate[0]); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<CudaExperts>();
  weight->E = static_cast<int64_t>(gate.size());
  weight->I = gate[0].shape[0];
  weight->H = gate[0].shape[1];
  for (size_t e = 0; e < gate.size(); ++e) {
    for (const TensorView* view : {&gate[e], &up[e]}) {
      if (Result<void> checked = check_shape(*view, weight->I, weight->H); !checked) {
        return std::unexpected(checked.error());
      }
    }
    if (Result<void> checked = check_shape(down[e], weight->H, weight->I); !checked) {
      return std::unexpected(checked.error());
    }
  }
  const int64_t gate_up_elements = grouped_rows(weight->I) * weight->H;
  const int64_t down_elements = weight->H * weight->I;
  weight->bytes_per_expert = (gate_up_elements + down_elements) * x_size();
  Result<CudaMemory> gate_up_values = allocate(weight->E * gate_up_elements);
  Result<CudaMemory> down_values = allocate(weight->E * down_elements);
  for (const auto* values : {&gate_up_values, &down_values}) {
    if (!*values) {
      return std::unexpected(values->error());
    }
  }
  weight->gate_up = std::move(*gate_up_values);
  weight->down = std::move(*down_values);
  for (size_t e = 0; e < gate.size(); ++e) {
    const auto index = static_cast<int64_t>(e);
    auto* pair =
        static_cast<std::byte*>(weight->gate_up.data()) + index * gate_up_elements * x_size();
    rows(pair, gate[e], true, 0);
    rows(pair, up[e], true, 1);
    rows(static_cast<std::byte*>(weight->down.data()) + index * down_elements * x_size(), down[e],
         false, 0);
  }
  return weight;
}

Result<std::unique_ptr<EmbeddingWeight>> WeightUploader::embedding(const TensorView& table) {
  if (Result<void> checked = check_matrix(table); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<CudaEmbedding>();
  weight->V = table.shape[0];
  weight->H = table.shape[1];
  Result<CudaMemory> values = allocate(weight->V * weight->H);
  if (!values) {
    return std::unexpected(std::move(values.error()));
  }
  weight->values = std::move(*values);
  rows(weight->values.data(), table, false, 0);
  return weight;
}

}  // namespace deltaserve
