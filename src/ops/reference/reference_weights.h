// Weights of the reference backend: float32, transposed to [K, N], so that the loop over outputs is
// the inner one. With X = bfloat16 every weight is first rounded to bfloat16, as a framework's
// dtype cast does; a quantised one is integer times scale, not rounded.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "ops/weights.h"
#include "tensor/dtype.h"
#include "tensor/tensor_view.h"

namespace deltaserve::reference {

struct ReferenceLinear : LinearWeight {
  std::vector<float> values;  // [K, N]
};

struct ReferenceGateUp : GateUpWeight {
  std::vector<float> gate;  // [K, I]
  std::vector<float> up;    // [K, I]
};

struct ReferenceExperts : ExpertsWeight {
  std::vector<std::vector<float>> gate;  // E x [H, I]
  std::vector<std::vector<float>> up;    // E x [H, I]
  std::vector<std::vector<float>> down;  // E x [I, H]
};

struct ReferenceEmbedding : EmbeddingWeight {
  std::vector<float> values;  // [V, H]
};

// Errors of all: a dtype other than kF32, kBF16, kF16 that is not quantised; a rank other than 2;
// shapes that disagree.
Result<std::unique_ptr<LinearWeight>> make_linear(DType x_dtype, std::span<const TensorView> parts);
Result<std::unique_ptr<GateUpWeight>> make_gate_up(DType x_dtype, const TensorView& gate,
                                                   const TensorView& up);
Result<std::unique_ptr<ExpertsWeight>> make_experts(DType x_dtype, std::span<const TensorView> gate,
                                                    std::span<const TensorView> up,
                                                    std::span<const TensorView> down);
Result<std::unique_ptr<EmbeddingWeight>> make_embedding(DType x_dtype, const TensorView& table);

}  // namespace deltaserve::reference
