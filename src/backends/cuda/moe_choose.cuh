// The choice of a token's experts by a warp: softmax in float32, then K rounds of a warp-wide
// maximum. Lane l holds experts l, l + 32, ...; equal values, and NaN, go to the lower id first.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device_math.cuh"

namespace deltaserve::cuda {

// kSlots * 32 experts at most.
inline constexpr int kFewSlots = 8;
inline constexpr int kMostSlots = 32;  // kMoeMostExperts

template <int kSlots>
__device__ __forceinline__ void softmax_slots(const float* logits, int32_t E, float (&p)[kSlots]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int e = lane + kWarp * i;
    p[i] = e < E ? logits[e] : -INFINITY;
    largest = fmaxf(largest, p[i]);
  }
  largest = warp_max(largest);
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    p[i] = lane + kWarp * i < E ? expf(p[i] - largest) : 0.0F;
    sum += p[i];
  }
  sum = warp_sum(sum);
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    p[i] /= sum;
  }
}

// Bit i of the result: expert lane + 32 i is chosen. The bits of what softmax makes, numbers >= 0
// or NaN, are in the order of the numbers; one more of them leaves zero for what does not count.
template <int kSlots>
__device__ __forceinline__ uint32_t largest_slots(const float (&p)[kSlots], int32_t E, int32_t K) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint32_t keys[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    keys[i] = lane + kWarp * i < E ? __float_as_uint(p[i]) + 1U : 0U;
  }
  uint32_t chosen = 0;
  for (int round = 0; round < K; ++round) {
    uint32_t best = keys[0];
#pragma unroll
    for (int i = 1; i < kSlots; ++i) {
      best = max(best, keys[i]);
    }
    best = __reduce_max_sync(kAllLanes, best);
    uint32_t id = kSlots * kWarp;
#pragma unroll
    for (int i = kSlots - 1; i >= 0; --i) {
      id = keys[i] == best ? static_cast<uint32_t>(lane + kWarp * i) : id;
    }
    id = __reduce_min_sync(kAllLanes, id);
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      if (id == static_cast<uint32_t>(lane + kWarp * i)) {
        keys[i] = 0;
        chosen |= 1U << i;
      }
    }
  }
  return chosen;
}

// ids [K] ascending and their weights [K], of one token's `logits` [E]; all lanes call it.
template <int kSlots>
__device__ __forceinline__ void choose_experts(const float* logits, int32_t E, int32_t K,
                                               bool renormalize, int32_t* ids, float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float p[kSlots];
  softmax_slots(logits, E, p);
  const uint32_t chosen = largest_slots(p, E, K);
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    sum += (chosen >> i & 1U) != 0 ? p[i] : 0.0F;
  }
  sum = warp_sum(sum);
  int at = 0;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = (chosen >> i & 1U) != 0;
    const unsigned marks = __ballot_sync(kAllLanes, mine);
    if (mine) {
      const int place = at + __popc(marks & ((1U << lane) - 1U));
      ids[place] = lane + kWarp * i;
      weights[place] = renormalize ? p[i] / sum : p[i];
    }
    at += __popc(marks);
  }
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
