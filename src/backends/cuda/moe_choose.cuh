// The choice of a token's experts by a warp: K rounds of a warp-wide maximum of the router's
// results, whose order is that of their softmax. Lane l holds experts l, l + 32, ...; equal values
// go to the lower id first, and all do where the softmax has no numbers (NaN or an infinite
// maximum). Ids are there before the weights, since those are what loads of weights wait for.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device_math.cuh"

namespace deltaserve::cuda {

// kSlots * 32 experts at most.
inline constexpr int kFewSlots = 8;
inline constexpr int kMostSlots = 32;  // kMoeMostExperts

// Unsigned integers in the order of the numbers; zero is below all of them.
__device__ __forceinline__ uint32_t order_key(float x) {
  const uint32_t bits = __float_as_uint(x + 0.0F);  // one zero
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// The number whose key it is.
__device__ __forceinline__ float key_number(uint32_t key) {
  return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7fffffffU : ~key);
}

// The warp's largest key below `bound`, or zero.
template <int kSlots>
__device__ __forceinline__ uint32_t largest_key_below(const uint32_t (&keys)[kSlots],
                                                      uint32_t bound) {
  static_assert(kSlots % 4 == 0);
  uint32_t best[4] = {};
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    best[i % 4] = max(best[i % 4], keys[i] < bound ? keys[i] : 0U);
  }
  return __reduce_max_sync(kAllLanes, max(max(best[0], best[1]), max(best[2], best[3])));
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

// Bit i of the result: expert lane + 32 i is among the K largest where keys may be equal. Keys of
// those become zero.
template <int kSlots>
__device__ __forceinline__ uint32_t choose_among_equals(uint32_t (&keys)[kSlots], int32_t K) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint32_t chosen = 0;
#pragma unroll 1
  for (int round = 0; round < K; ++round) {
    const uint32_t own = largest_key(keys);
    const uint32_t best = __reduce_max_sync(kAllLanes, own);
    int slot = kSlots;
#pragma unroll
    for (int i = kSlots - 1; i >= 0; --i) {
      slot = keys[i] == best ? i : slot;
    }
    // All lanes take part: those without the key have ids above all others.
    const auto id = static_cast<uint32_t>(slot * kWarp + lane);
    const uint32_t lowest = __reduce_min_sync(kAllLanes, id);
    const bool mine = own == best && lowest == id;
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      keys[i] = mine && slot == i ? 0U : keys[i];
    }
    chosen |= mine ? 1U << slot : 0U;
  }
  return chosen;
}

// What a lane knows of a token's choice.
struct ExpertChoice {
  uint32_t slots;    // bit i: expert lane + 32 i is chosen
  float largest;     // of all results
  bool has_numbers;  // the results have a softmax
};

// ids [K] ascending, of one token's results, of which a lane has its slots'. All lanes call it.
// K rounds find the key of the last of the K largest; if not K keys reach it some are equal, and
// they are gone through one by one.
template <int kSlots>
__device__ __forceinline__ ExpertChoice choose_ids(const float (&x)[kSlots], int32_t E, int32_t K,
                                                   int32_t* ids) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint32_t keys[kSlots];
  bool is_nan = false;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool there = lane + kWarp * i < E;
    is_nan = is_nan || (there && isnan(x[i]));
    keys[i] = there ? order_key(x[i]) : 0U;
  }
  uint32_t bound = largest_key_below(keys, ~0U);
  ExpertChoice choice{.slots = 0, .largest = key_number(bound), .has_numbers = false};
  choice.has_numbers = !__any_sync(kAllLanes, is_nan) && isfinite(choice.largest);
#pragma unroll 4
  for (int round = 1; round < K; ++round) {
    bound = largest_key_below(keys, bound);
  }
  int count = 0;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = keys[i] >= bound;
    choice.slots |= mine ? 1U << i : 0U;
    count += __popc(__ballot_sync(kAllLanes, mine));
  }
  if (count != K || bound == 0 || !choice.has_numbers) {
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      keys[i] = lane + kWarp * i < E && !choice.has_numbers ? 1U : keys[i];
    }
    choice.slots = choose_among_equals(keys, K);
  }
  int at = 0;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = (choice.slots >> i & 1U) != 0;
    const unsigned marks = __ballot_sync(kAllLanes, mine);
    if (mine) {
      ids[at + __popc(marks & ((1U << lane) - 1U))] = lane + kWarp * i;
    }
    at += __popc(marks);
  }
  return choice;
}

// The weights [K] of the chosen experts, in the order of their ids.
template <int kSlots>
__device__ __forceinline__ void weigh_chosen(float (&x)[kSlots], const ExpertChoice& choice,
                                             int32_t E, bool renormalize, float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool counts = renormalize ? (choice.slots >> i & 1U) != 0 : lane + kWarp * i < E;
    if (counts) {
      x[i] = choice.has_numbers ? expf(x[i] - choice.largest) : NAN;
      sum += x[i];
    }
  }
  sum = warp_sum(sum);
  int at = 0;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = (choice.slots >> i & 1U) != 0;
    const unsigned marks = __ballot_sync(kAllLanes, mine);
    if (mine) {
      weights[at + __popc(marks & ((1U << lane) - 1U))] = x[i] / sum;
    }
    at += __popc(marks);
  }
}

// Both; results of experts beyond E do not matter.
template <int kSlots>
__device__ __forceinline__ void choose_from(float (&x)[kSlots], int32_t E, int32_t K,
                                            bool renormalize, int32_t* ids, float* weights) {
  const ExpertChoice choice = choose_ids(x, E, K, ids);
  weigh_chosen(x, choice, E, renormalize, weights);
}

// The same of `logits` [E], read from the second level cache: a kernel that has not waited for the
// one before it may have a line of the step before in its first.
template <int kSlots>
__device__ __forceinline__ void choose_experts(const float* logits, int32_t E, int32_t K,
                                               bool renormalize, int32_t* ids, float* weights) {
  float x[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int e = static_cast<int>(threadIdx.x) % kWarp + kWarp * i;
    x[i] = e < E ? __ldcg(logits + e) : -INFINITY;
  }
  choose_from(x, E, K, renormalize, ids, weights);
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
