// The choice of one token's experts where nothing else waits: ids are there before the weights,
// since those are what loads of experts' weights wait for, and a round is short. Longer than
// moe_choose.cuh's, whose choice it is to the bit, which more tokens are faster with.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/moe_choose.cuh"

namespace deltaserve::cuda {

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
    choice.slots = choose_slots(keys, K);
  }
  for_chosen<kSlots>(choice.slots, [&](int i, int place) { ids[place] = lane + kWarp * i; });
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
  for_chosen<kSlots>(choice.slots, [&](int i, int place) { weights[place] = x[i] / sum; });
}

}  // namespace deltaserve::cuda
