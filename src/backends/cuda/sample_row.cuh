// A row of logits: its elements, their order and weights, and what the blocks that search it share.
#pragma once

#include <climits>
#include <cmath>

#include "backends/cuda/block_team.cuh"
#include "ops/sampling_math.h"

namespace deltaserve::cuda {

using Mass = unsigned long long;

inline constexpr int kSampleThreads = 1024;
inline constexpr int kBins = 2048;
inline constexpr int kPasses = 3;
// A bin's mass is counted in three native 32-bit integers: a weight is at most 2^32, cut into
// digits of 11 bits, and 2^20 of them stay below 2^31.
inline constexpr int kMassDigits = 3;
inline constexpr int kMassDigitBits = 11;

struct Best {
  float value = -INFINITY;
  int index = INT_MAX;
};

__device__ __forceinline__ bool is_better(const Best& a, const Best& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

// A list of elements, in any order.
struct Candidates {
  static constexpr int kMost = 512;
  float values[kMost];
  int ids[kMost];
  int count;

  __device__ Best at(int i) const { return {.value = values[i], .index = ids[i]}; }
};

// Of a row's largest elements: this block's, and in the first block the team's.
struct FewShared {
  Candidates own;
  Candidates all;
  float maxima[kWarp];               // of this block's warps
  float team_maxima[kWarp * kWarp];  // of the team's, as far as there are
  float bound;
};

struct SelectShared {
  unsigned parts[kMassDigits][kBins];  // this block's
  union {
    Mass totals[kBins];  // the team's
    FewShared few;
  };
  Mass partial[kWarp];
  unsigned warp_counts[kWarp];
  int found_bin;
  Mass found_above;
  int tie_end;
  // Published for the team.
  Mass sum;
  float best_value;
  int best_index;
  int flag;
  double real_sum;
};

// Order of floats as order of integers; -0 and +0 are one key. No NaN comes here.
__device__ __forceinline__ unsigned order_key(float x) {
  const unsigned bits = __float_as_uint(x + 0.0F);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// sampling_weight of ops/sampling_math.h, step by step.
__device__ __forceinline__ float device_sampling_weight(float x) {
  using namespace sampling_exp;
  if (!(x >= kSamplingMinExponent)) {
    return 0.0F;
  }
  const float n = __fsub_rn(__fadd_rn(__fmul_rn(x, kLog2E), kRound), kRound);
  const float r = __fsub_rn(__fsub_rn(x, __fmul_rn(n, kLn2High)), __fmul_rn(n, kLn2Low));
  constexpr float kTerm[8] = {kTerms[0], kTerms[1], kTerms[2], kTerms[3],
                              kTerms[4], kTerms[5], kTerms[6], kTerms[7]};
  float p = kTerm[0];
#pragma unroll
  for (int i = 1; i < 8; ++i) {
    p = __fadd_rn(__fmul_rn(p, r), kTerm[i]);
  }
  constexpr int kExponentBias = 127;
  constexpr int kMantissaBits = 23;
  constexpr int kUnitExponent = 32;
  const int exponent = static_cast<int>(n) + kUnitExponent + kExponentBias;
  return rintf(__fmul_rn(p, __int_as_float(exponent << kMantissaBits)));
}

// f(value, index) over this block's part of a row, eight loads in flight a thread.
template <typename F>
__device__ __forceinline__ void for_each_value(const float* values, int begin, int end, F f) {
  constexpr int kUnroll = 8;
  int i = begin + static_cast<int>(threadIdx.x);
  for (; i + (kUnroll - 1) * kSampleThreads < end; i += kUnroll * kSampleThreads) {
    float loaded[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      loaded[j] = values[i + j * kSampleThreads];
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      f(loaded[j], i + j * kSampleThreads);
    }
  }
  for (; i < end; i += kSampleThreads) {
    f(values[i], i);
  }
}

}  // namespace deltaserve::cuda
