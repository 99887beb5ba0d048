// A block of experts of the 35B-A3B (256 experts of 512, 8 a token, H 2048, a shared expert of 512)
// and what it takes and makes of some tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "kernel_case.h"

namespace deltaserve::bench {

inline constexpr int64_t kExperts = 256;
inline constexpr int64_t kWidth = 512;  // of an expert, and of the shared one
inline constexpr int64_t kHidden = 2048;
inline constexpr int32_t kChosen = 8;
inline constexpr int64_t kLogitsStride = 288;

struct BlockWeights {
  CudaLinear router;
  CudaExperts experts;
  CudaGateUp shared_gate_up;
  CudaLinear shared_down;

  explicit BlockWeights(uint64_t seed) {
    // Hidden states and results of order one.
    const Pattern wide(DType::kBF16, seed, 0.04F);
    const Pattern narrow(DType::kBF16, seed + 1, 0.08F);
    router.N = kExperts + 1;
    router.K = kHidden;
    router.values = wide.make((kExperts + kRowMultiple) * kHidden);
    experts.E = kExperts;
    experts.I = kWidth;
    experts.H = kHidden;
    experts.gate_up = wide.make(kExperts * 2 * kWidth * kHidden);
    experts.down = narrow.make(kExperts * kHidden * kWidth);
    shared_gate_up.I = kWidth;
    shared_gate_up.K = kHidden;
    shared_gate_up.values = wide.make(2 * kWidth * kHidden);
    shared_down.N = kHidden;
    shared_down.K = kWidth;
    shared_down.values = narrow.make(kHidden * kWidth);
  }
};

struct BlockTokens {
  int64_t T;
  std::vector<float> values;
  CudaMemory residual, delta, norm, x, logits, ids, weights, inner, shared;

  explicit BlockTokens(int64_t count)
      : T(count), values(random_values(static_cast<size_t>(T * kHidden), 1, 1.0F)) {
    const auto rows = static_cast<size_t>(T);
    residual = to_device(DType::kF32, values);
    delta = to_device(DType::kF32, random_values(rows * kHidden, 2, 0.5F));
    norm = to_device(DType::kF32, random_values(kHidden, 3, 0.2F));
    x = CudaMemory(rows * kHidden * 2);
    logits = CudaMemory(rows * kLogitsStride * sizeof(float));
    ids = CudaMemory(rows * kChosen * sizeof(int32_t));
    weights = CudaMemory(rows * kChosen * sizeof(float));
    inner = CudaMemory(rows * kWidth * 2);
    shared = CudaMemory(rows * kHidden * sizeof(float));
  }

  MoeBlockArgs args(const BlockWeights& block, int64_t first, int64_t rows) const {
    return {.T = rows,
            .H = kHidden,
            .K = kChosen,
            .residual = static_cast<float*>(residual.data()) + first * kHidden,
            .delta = static_cast<const float*>(delta.data()) + first * kHidden,
            .norm_weight = static_cast<const float*>(norm.data()),
            .eps = 1e-6F,
            .router = &block.router,
            .experts = &block.experts,
            .shared_gate_up = &block.shared_gate_up,
            .shared_down = &block.shared_down,
            .x = x.data(),
            .logits = static_cast<float*>(logits.data()),
            .logits_stride = kLogitsStride,
            .expert_ids = static_cast<int32_t*>(ids.data()),
            .weights = static_cast<float*>(weights.data()),
            .inner = inner.data(),
            .inner_stride = kWidth,
            .shared = static_cast<float*>(shared.data())};
  }
  // The residual after the block of some rows, the others as they were.
  std::vector<float> run(CudaContext& context, const BlockWeights& block, int64_t first,
                         int64_t rows) const {
    check_cuda(cudaMemcpyAsync(residual.data(), values.data(), values.size() * sizeof(float),
                               cudaMemcpyHostToDevice, context.stream));
    report_condition("  served", launch_moe_block(context, args(block, first, rows)));
    check_cuda(cudaStreamSynchronize(context.stream));
    return to_host(DType::kF32, residual.data(), values.size());
  }
};

}  // namespace deltaserve::bench
