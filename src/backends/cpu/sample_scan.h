// The passes of sampling over a whole vocabulary, vectorised. Blocks of 64 tokens carry their
// largest logit, so that selections touch only the few blocks that matter.
#pragma once

#include <cstdint>

#include "backends/cpu/cpu_backend.h"

namespace deltaserve {

// Tokens of a block: one word of a grammar mask, and few enough blocks (3,900 for 248,320 tokens)
// that selecting among their maxima costs little.
inline constexpr int64_t kSampleBlock = 64;

constexpr int64_t sample_blocks(int64_t count) {
  return (count + kSampleBlock - 1) / kSampleBlock;
}

// Tokens heavier than `weight` are kept, and those of equal weight up to id `token`.
struct SampleCut {
  float weight = 0.0F;
  int32_t token = -1;
};

// What collect_between found.
struct HeavySum {
  double sum = 0.0;   // of the heavier weights, exact
  int64_t found = 0;  // tokens collected
};

struct SampleScan {
  // maxima[b] = largest logit of block b; false if a logit is NaN or +Inf.
  bool (*maxima)(const float* logits, int64_t count, float* maxima) = nullptr;
  // out[i] = logits[i] where bit i of allowed is set, -Inf elsewhere.
  void (*mask)(const float* logits, const uint64_t* allowed, int64_t count, float* out) = nullptr;
  // weights[i] = sampling_weight((logits[i] - largest) / temperature), zero if below min_weight.
  // Returns their sum (exact).
  double (*weigh)(const float* logits, const float* maxima, int64_t count, float largest,
                  float temperature, float min_weight, float* weights) = nullptr;
  // Tokens with a value of at least `threshold`, ascending; returns how many. maxima may be null
  // (then all blocks are read). The outputs need room for `count` + 16.
  int64_t (*collect)(const float* values, const float* maxima, int64_t count, float threshold,
                     float* out_values, int32_t* out_tokens) = nullptr;
  // Tokens with a weight in [low, high), as collect() gives them, and the sum of the heavier ones.
  HeavySum (*collect_between)(const float* weights, int64_t count, float low, float high,
                              float* out_values, int32_t* out_tokens) = nullptr;
  // The first token at which the running sum of kept weights exceeds target; -1 if none.
  int32_t (*draw)(const float* weights, int64_t count, SampleCut cut, double target) = nullptr;
  // sum of exp(logits[i] - largest)
  double (*sum_exp)(const float* logits, int64_t count, float largest) = nullptr;
};

SampleScan sample_scan(CpuIsa isa);

}  // namespace deltaserve
