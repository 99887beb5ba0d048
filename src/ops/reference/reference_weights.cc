// Checks and converts weights for the reference backend; see reference_weights.h.
#include "ops/reference/reference_weights.h"

#include <string>
#include <utility>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

Result<void> check_matrix(const TensorView& view) {
  if (!view.is_quantized() && view.dtype != DType::kF32 && view.dtype != DType::kBF16 &&
      view.dtype != DType::kF16) {
    return invalid("a weight of dtype " + std::string(dtype_name(view.dtype)) +
                   " is not served; convert it to float32, bfloat16 or float16");
  }
  if (view.shape.size() != 2) {
    return invalid("a weight of rank " + std::to_string(view.shape.size()) +
                   " is not served; a matrix is expected");
  }
  return {};
}

Result<void> check_shape(const TensorView& view, int64_t rows, int64_t columns) {
  if (Result<void> checked = check_matrix(view); !checked) {
    return checked;
  }
  if (view.shape[0] != rows || view.shape[1] != columns) {
    return invalid("a weight has shape [" + std::to_string(view.shape[0]) + ", " +
                   std::to_string(view.shape[1]) + "], expected [" + std::to_string(rows) + ", " +
                   std::to_string(columns) + "]");
  }
  return {};
}

std::vector<float> rounded(DType x_dtype, const TensorView& view) {
  std::vector<float> values = to_float_vector(view);
  if (!view.is_quantized()) {
    for (float& value : values) {
      value = round_to(x_dtype, value);
    }
  }
  return values;
}

// Writes `view` [n, K] into columns [first, first + n) of `out` [K, N].
void transpose_into(DType x_dtype, const TensorView& view, int64_t first, int64_t N,
                    std::vector<float>& out) {
  const std::vector<float> values = rounded(x_dtype, view);
  const int64_t K = view.shape[1];
  for (int64_t n = 0; n < view.shape[0]; ++n) {
    for (int64_t k = 0; k < K; ++k) {
      out[static_cast<size_t>(k * N + first + n)] = values[static_cast<size_t>(n * K + k)];
    }
  }
}

std::vector<float> transposed(DType x_dtype, const TensorView& view) {
  std::vector<float> out(static_cast<size_t>(view.num_elements()));
  transpose_into(x_dtype, view, 0, view.shape[0], out);
  return out;
}

}  // namespace

Result<std::unique_ptr<LinearWeight>> make_linear(DType x_dtype,
                                                  std::span<const TensorView> parts) {
  if (parts.empty()) {
    return invalid("a linear weight needs at least one part");
  }
  auto weight = std::make_unique<ReferenceLinear>();
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
  weight->bytes = weight->N * weight->K * dtype_size(DType::kF32);
  weight->kernel = "reference";
  weight->values.resize(static_cast<size_t>(weight->N * weight->K));
  int64_t first = 0;
  for (const TensorView& part : parts) {
    transpose_into(x_dtype, part, first, weight->N, weight->values);
    first += part.shape[0];
  }
  return weight;
}

Result<std::unique_ptr<GateUpWeight>> make_gate_up(DType x_dtype, const TensorView& gate,
                                                   const TensorView& up) {
  if (Result<void> checked = check_matrix(gate); !checked) {
    return std::unexpected(checked.error());
  }
  if (Result<void> checked = check_shape(up, gate.shape[0], gate.shape[1]); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<ReferenceGateUp>();
  weight->I = gate.shape[0];
  weight->K = gate.shape[1];
  weight->bytes = 2 * weight->I * weight->K * dtype_size(DType::kF32);
  weight->kernel = "reference";
  weight->gate = transposed(x_dtype, gate);
  weight->up = transposed(x_dtype, up);
  return weight;
}

Result<std::unique_ptr<ExpertsWeight>> make_experts(DType x_dtype, std::span<const TensorView> gate,
                                                    std::span<const TensorView> up,
                                                    std::span<const TensorView> down) {
  if (gate.empty() || gate.size() != up.size() || gate.size() != down.size()) {
    return invalid("experts need the same number of gate, up and down matrices, at least one");
  }
  if (Result<void> checked = check_matrix(gate[0]); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<ReferenceExperts>();
  weight->E = static_cast<int64_t>(gate.size());
  weight->I = gate[0].shape[0];
  weight->H = gate[0].shape[1];
  weight->bytes_per_expert = 3 * weight->I * weight->H * dtype_size(DType::kF32);
  weight->kernel = "reference";
  for (size_t e = 0; e < gate.size(); ++e) {
    for (const TensorView* view : {&gate[e], &up[e]}) {
      if (Result<void> checked = check_shape(*view, weight->I, weight->H); !checked) {
        return std::unexpected(checked.error());
      }
    }
    if (Result<void> checked = check_shape(down[e], weight->H, weight->I); !checked) {
      return std::unexpected(checked.error());
    }
    weight->gate.push_back(transposed(x_dtype, gate[e]));
    weight->up.push_back(transposed(x_dtype, up[e]));
    weight->down.push_back(transposed(x_dtype, down[e]));
  }
  return weight;
}

Result<std::unique_ptr<EmbeddingWeight>> make_embedding(DType x_dtype, const TensorView& table) {
  if (table.is_quantized()) {
    return invalid("the embedding table must not be quantised");
  }
  if (Result<void> checked = check_matrix(table); !checked) {
    return std::unexpected(checked.error());
  }
  auto weight = std::make_unique<ReferenceEmbedding>();
  weight->V = table.shape[0];
  weight->H = table.shape[1];
  weight->values = rounded(x_dtype, table);
  return weight;
}

}  // namespace deltaserve::reference
