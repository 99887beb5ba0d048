// Selection over a row of logits without sorting: the threshold of the k largest, or of the
// smallest set that holds a given mass, by a radix search on 32-bit keys (11, 11 and 10 bits).
// Counts and masses are integers, so no result depends on the order in which blocks add.
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

struct Threshold {
  unsigned key = 0;    // of the last element that is (partly) taken
  Mass above = 0;      // count or mass of all larger keys
  Mass equal = 0;      // of this key, in the team
  Mass own_equal = 0;  // in this block
  Mass before = 0;     // in the blocks before this one
};

// Searches from the largest key down. `element(value, index, key, amount)` gives an element's key
// and amount (1, or its weight) and returns whether it takes part; `hit(above, amount)` says
// whether the boundary lies in a bin of that amount that has `above` over it. Exactly one bin of a
// pass must be hit.
template <typename Team, bool IsMass, typename Element, typename Hit>
__device__ Threshold find_threshold(SelectShared& shared, const float* values, int begin, int end,
                                    Element element, Hit hit) {
  constexpr int kDigits = IsMass ? kMassDigits : 1;
  constexpr unsigned kDigitMask = (1U << kMassDigitBits) - 1;
  constexpr int kShifts[kPasses] = {21, 10, 0};
  Threshold found;
  unsigned prefix_mask = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const int shift = kShifts[pass];
    const unsigned bin_mask = pass == kPasses - 1 ? (1U << 10) - 1 : kBins - 1;
    for (int i = static_cast<int>(threadIdx.x); i < kDigits * kBins; i += kSampleThreads) {
      shared.parts[i / kBins][i % kBins] = 0;
    }
    __syncthreads();
    for_each_value(values, begin, end, [&](float value, int index) {
      unsigned key = 0;
      Mass amount = 0;
      if (!element(value, index, key, amount) || (key & prefix_mask) != found.key) {
        return;
      }
      const unsigned bin = key >> shift & bin_mask;
#pragma unroll
      for (int d = 0; d < kDigits; ++d) {
        const auto digit = static_cast<unsigned>(amount >> (d * kMassDigitBits));
        const unsigned part = d == kMassDigits - 1 ? digit : digit & kDigitMask;
        if (part != 0) {
          atomicAdd(&shared.parts[d][bin], part);
        }
      }
    });
    Team::sync();
    const auto bin_amount = [&](int rank, int bin) {
      Mass amount = 0;
#pragma unroll
      for (int d = 0; d < kDigits; ++d) {
        amount += static_cast<Mass>(*Team::of(&shared.parts[d][bin], rank)) << (d * kMassDigitBits);
      }
      return amount;
    };
    Mass pair[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int bin = kBins - 1 - 2 * static_cast<int>(threadIdx.x) - j;
      pair[j] = 0;
      for (int r = 0; r < Team::kSize; ++r) {
        pair[j] += bin_amount(r, bin);
      }
      shared.totals[bin] = pair[j];
    }
    Mass total = 0;
    Mass above = found.above + block_prefix(pair[0] + pair[1], shared.partial, total);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (hit(above, pair[j])) {
        shared.found_bin = kBins - 1 - 2 * static_cast<int>(threadIdx.x) - j;
        shared.found_above = above;
      }
      above += pair[j];
    }
    __syncthreads();
    const int bin = shared.found_bin;
    found.above = shared.found_above;
    found.key |= static_cast<unsigned>(bin) << shift;
    prefix_mask |= bin_mask << shift;
    if (pass == kPasses - 1) {
      found.equal = shared.totals[bin];
      found.own_equal = bin_amount(Team::rank(), bin);
      for (int r = 0; r < Team::rank(); ++r) {
        found.before += bin_amount(r, bin);
      }
    }
    Team::sync();  // before the parts are cleared again
  }
  return found;
}

// Of the elements of this block for which `is_equal(value, index)`, in ascending order of index,
// the first `count` are taken: returns the index behind the last of them. `own` is how many there
// are.
template <typename Equal>
__device__ int end_of_ties(SelectShared& shared, const float* values, int begin, int end, Mass own,
                           Mass count, Equal is_equal) {
  if (count >= own) {
    return end;
  }
  if (count == 0) {
    return begin;
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  Mass passed = 0;
  for (int base = begin; base < end; base += kSampleThreads) {
    const int i = base + static_cast<int>(threadIdx.x);
    const bool equal = i < end && is_equal(values[i], i);
    const unsigned votes = __ballot_sync(kAllLanes, equal);
    if (lane == 0) {
      shared.warp_counts[warp] = static_cast<unsigned>(__popc(votes));
    }
    __syncthreads();
    Mass before = passed;
    for (int w = 0; w < kSampleThreads / kWarp; ++w) {
      before += w < warp ? shared.warp_counts[w] : 0;
      passed += shared.warp_counts[w];
    }
    const Mass ordinal = before + static_cast<Mass>(__popc(votes & ((1U << lane) - 1))) + 1;
    if (equal && ordinal == count) {
      shared.tie_end = i + 1;
    }
    __syncthreads();
    if (passed >= count) {
      return shared.tie_end;
    }
  }
  return end;
}

}  // namespace deltaserve::cuda
