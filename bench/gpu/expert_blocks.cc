// moe_block of the 35B-A3B (256 experts of 512, 8 a token, H 2048, a shared expert of 512): a
// token's bits in every decode form, and times with several layers in turn. Its values are tested
// against the reference in tests/ops.
#include <algorithm>
#include <cmath>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "graph_timer.h"
#include "kernel_case.h"

namespace deltaserve::bench {
namespace {

constexpr int64_t kExperts = 256;
constexpr int64_t kWidth = 512;  // of an expert, and of the shared one
constexpr int64_t kHidden = 2048;
constexpr int32_t kChosen = 8;
constexpr int64_t kLogitsStride = 288;

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

void time_block(CudaContext& context, const std::vector<BlockWeights>& layers, int64_t T) {
  const BlockTokens tokens(T);
  const auto work = [&] {
    for (const BlockWeights& block : layers) {
      launch_moe_block(context, tokens.args(block, 0, T));
    }
  };
  work();
  const double us = graph_microseconds(context, work, 15) / static_cast<double>(layers.size());
  // Experts that random choices touch, the shared one and the router.
  const double active =
      kExperts * (1.0 - std::pow(1.0 - double{kChosen} / kExperts, static_cast<double>(T)));
  const double expert = 3.0 * kWidth * kHidden;
  const double router = double{kHidden} * (kExperts + 1);
  const double bytes = ((active + 1.0) * expert + router) * 2.0 / kCopyBytes;
  const double flops =
      2.0 * static_cast<double>(T) * ((kChosen + 1.0) * expert + router) / kTensorFlops;
  print_time("35B block of experts with its norm, " + std::to_string(T) + " tokens", us,
             std::max(bytes, flops) * 1e6);
}

}  // namespace

void check_expert_blocks(CudaContext& context) {
  const BlockWeights block(41);
  constexpr int64_t kTokens = 32;
  const BlockTokens tokens(kTokens);
  const std::vector<float> all = tokens.run(context, block, 0, kTokens);
  report_condition("block of experts: finite",
                   std::ranges::all_of(all, [](float value) { return std::isfinite(value); }));
  for (const int64_t part : {1, 3, 4, 5, 9, 17}) {
    const std::vector<float> some = tokens.run(context, block, kTokens - part, part);
    const auto from = static_cast<std::ptrdiff_t>((kTokens - part) * kHidden);
    report_same_bits("block of experts: the last " + std::to_string(part) + " tokens",
                     {some.begin() + from, some.end()}, {all.begin() + from, all.end()});
  }
}

void time_expert_blocks(CudaContext& context) {
  std::vector<BlockWeights> layers;
  for (uint64_t i = 0; i < 4; ++i) {
    layers.emplace_back(50 + 2 * i);
  }
  context.limits.max_tokens = 8192;
  for (const int64_t T : {8192, 4096, 2048, 128, 64, 32, 16, 8, 5, 4, 2, 1}) {
    time_block(context, layers, T);
  }
}

}  // namespace deltaserve::bench
