// moe_block of the 35B-A3B (256 experts of 512, 8 a token, H 2048, a shared expert of 512): a
// token's bits in every decode form, and times with several layers in turn. Its values are tested
// against the reference in tests/ops.
#include <algorithm>
#include <cmath>

#include "expert_block_case.h"
#include "graph_timer.h"

namespace deltaserve::bench {
namespace {

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
