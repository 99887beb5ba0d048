// What the blocks of a team find together about a row: the best element, a flag, sums.
#pragma once

#include "backends/cuda/sample_select.cuh"

namespace deltaserve::cuda {

// The best of all threads of the team.
template <typename Team>
__device__ Best team_best(SelectShared& shared, Best best) {
  __shared__ Best warps[kWarp];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const Best other = {.value = __shfl_xor_sync(kAllLanes, best.value, offset),
                        .index = __shfl_xor_sync(kAllLanes, best.index, offset)};
    best = is_better(other, best) ? other : best;
  }
  if (threadIdx.x % kWarp == 0) {
    warps[threadIdx.x / kWarp] = best;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kSampleThreads / kWarp; ++w) {
      best = is_better(warps[w], best) ? warps[w] : best;
    }
    shared.best_value = best.value;
    shared.best_index = best.index;
  }
  Team::sync();
  best = Best{};
  for (int r = 0; r < Team::kSize; ++r) {
    const Best other = {.value = *Team::of(&shared.best_value, r),
                        .index = *Team::of(&shared.best_index, r)};
    best = is_better(other, best) ? other : best;
  }
  Team::sync();
  return best;
}

template <typename Team>
__device__ bool team_any(SelectShared& shared, bool flag) {
  const int any = __syncthreads_or(flag ? 1 : 0);
  if (threadIdx.x == 0) {
    shared.flag = any;
  }
  Team::sync();
  bool result = false;
  for (int r = 0; r < Team::kSize; ++r) {
    result = result || *Team::of(&shared.flag, r) != 0;
  }
  Team::sync();
  return result;
}

struct TeamSum {
  Mass before = 0;  // in the blocks before this one
  Mass own = 0;
  Mass total = 0;
};

// `own` is the sum of this block, the same in all its threads.
template <typename Team>
__device__ TeamSum team_sum(SelectShared& shared, Mass own) {
  if (threadIdx.x == 0) {
    shared.sum = own;
  }
  Team::sync();
  TeamSum sum{.own = own};
  for (int r = 0; r < Team::kSize; ++r) {
    const Mass part = *Team::of(&shared.sum, r);
    sum.before += r < Team::rank() ? part : 0;
    sum.total += part;
  }
  Team::sync();
  return sum;
}

}  // namespace deltaserve::cuda
