// The choice of a token's experts by a warp: K rounds of a warp-wide maximum of the router's
// results, whose order is that of their softmax. Lane l holds experts l, l + 32, ...; equal values
// go to the lower id first, and all do where the softmax has no numbers (NaN or an infinite
// maximum).
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

// kSlots * 32 experts at most.
inline constexpr int kFewSlots = 8;
inline constexpr int kMostSlots = 32;  // kMoeMostExperts

// Unsigned integers in the order of the numbers; zero is below all of them.
__device__ __forceinline__ uint32_t order_key(float x) {
  const uint32_t bits = __float_as_uint(x + 0.0F);  // one zero
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

template <int kSlots>
__device__ __forceinline__ uint32_t largest_key(const uint32_t (&keys)[kSlots]) {
  uint32_t best = keys[0];
#pragma unroll
  for (int i = 1; i < kSlots; ++i) {
    best = max(best, keys[i]);
  }
  return best;
}

// Bit i of the result: expert lane + 32 i is among the K largest. Keys of those become zero.
template <int kSlots>
__device__ __forceinline__ uint32_t choose_slots(uint32_t (&keys)[kSlots], int32_t K) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint32_t chosen = 0;
  for (int round = 0; round < K; ++round) {
    const uint32_t own = largest_key(keys);
    const uint32_t best = __reduce_max_sync(kAllLanes, own);
    int slot = kSlots;
#pragma unroll
    for (int i = kSlots - 1; i >= 0; --i) {
      slot = keys[i] == best ? i : slot;
    }
    bool mine = own == best;
    if (__popc(__ballot_sync(kAllLanes, mine)) > 1) {
      const auto id = static_cast<uint32_t>(slot * kWarp + lane);
      mine = __reduce_min_sync(kAllLanes, id) == id;
    }
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      keys[i] = mine && slot == i ? 0U : keys[i];
    }
    chosen |= mine ? 1U << slot : 0U;
  }
  return chosen;
}

// Calls f(i, place) for each of the lane's chosen experts, lane + 32 i: its place among all chosen
// in ascending id. All lanes call it.
template <int kSlots, typename F>
__device__ __forceinline__ void for_chosen(uint32_t slots, F&& f) {
  const unsigned below = (1U << threadIdx.x % kWarp) - 1U;
  int at = 0;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = (slots >> i & 1U) != 0;
    const unsigned marks = __ballot_sync(kAllLanes, mine);
    if (mine) {
      f(i, at + __popc(marks & below));
    }
    at += __popc(marks);
  }
}

// ids [K] ascending and, kWeighted, their weights [K], of one token's results, of which a lane has
// its slots'; those of experts beyond E are -infinity. All lanes call it.
template <int kSlots, bool kWeighted = true>
__device__ __forceinline__ void choose_from(float (&x)[kSlots], int32_t E, int32_t K,
                                            bool renormalize, int32_t* ids, float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float largest = -INFINITY;
  bool is_nan = false;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    is_nan = is_nan || isnan(x[i]);
    largest = fmaxf(largest, x[i]);
  }
  largest = warp_max(largest);
  const bool has_numbers = !__any_sync(kAllLanes, is_nan) && isfinite(largest);
  uint32_t keys[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    keys[i] = lane + kWarp * i >= E ? 0U : has_numbers ? order_key(x[i]) : 1U;
  }
  const uint32_t chosen = choose_slots(keys, K);
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; kWeighted && i < kSlots; ++i) {
    const bool counts = renormalize ? (chosen >> i & 1U) != 0 : lane + kWarp * i < E;
    if (counts) {
      x[i] = has_numbers ? expf(x[i] - largest) : NAN;
      sum += x[i];
    }
  }
  if constexpr (kWeighted) {
    sum = warp_sum(sum);
  }
  for_chosen<kSlots>(chosen, [&](int i, int place) {
    ids[place] = lane + kWarp * i;
    if constexpr (kWeighted) {
      weights[place] = x[i] / sum;
    }
  });
}

// The same of `logits` [E], read from the second level cache: a kernel that has not waited for the
// one before it may have a line of the step before in its first.
template <int kSlots, bool kWeighted = true>
__device__ __forceinline__ void choose_experts(const float* logits, int32_t E, int32_t K,
                                               bool renormalize, int32_t* ids, float* weights) {
  float x[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int e = static_cast<int>(threadIdx.x) % kWarp + kWarp * i;
    x[i] = e < E ? __ldcg(logits + e) : -INFINITY;
  }
  choose_from<kSlots, kWeighted>(x, E, K, renormalize, ids, weights);
}

// Calls f with the number of slots for E experts as a constant.
template <typename F>
void with_slots(int64_t E, F&& f) {
  if (E <= kFewSlots * kWarp) {
    f(std::integral_constant<int, kFewSlots>());
  } else if (E <= 2 * kFewSlots * kWarp) {
    f(std::integral_constant<int, 2 * kFewSlots>());
  } else {
    f(std::integral_constant<int, kMostSlots>());
  }
}

}  // namespace deltaserve::cuda
