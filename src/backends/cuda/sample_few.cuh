// The few largest elements of a row without a search over all: the k-th largest of the maxima of
// disjoint parts (a warp's elements) is a lower bound of the k-th largest element, and little more
// than k elements reach it. One block ranks them by counting and draws from them. Same result as
// the search, to the bit: masses are integers, and the order of equals is by id.
#pragma once

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/sample_kernels.h"
#include "backends/cuda/sample_team.cuh"

namespace deltaserve::cuda {

// Half of the team's warps: then few elements beside the k largest reach the bound.
template <typename Team>
inline constexpr int kMostOfFew = Team::kSize*(kSampleThreads / kWarp) / 2;

// How many of `count` elements come before element `i`: larger ones, and equal ones of lower id.
__device__ __forceinline__ int rank_of(const Candidates& list, int count, int i) {
  int rank = 0;
  for (int j = 0; j < count; ++j) {
    rank += is_better(list.at(j), list.at(i)) ? 1 : 0;
  }
  return rank;
}

// The k-th largest of the maxima of all warps of the team; `own` is the thread's largest value.
template <typename Team>
__device__ float bound_of_largest(FewShared& few, int k, float own) {
  constexpr int kWarps = kSampleThreads / kWarp;
  constexpr int kMaxima = Team::kSize * kWarps;
  const auto i = static_cast<int>(threadIdx.x);
  own = warp_max(own);
  if (i % kWarp == 0) {
    few.maxima[i / kWarp] = own;
  }
  if (i == 0) {
    few.own.count = 0;
  }
  Team::sync();
  if (i < kMaxima) {
    few.team_maxima[i] = *Team::of(&few.maxima[i % kWarps], i / kWarps);
  }
  __syncthreads();
  if (i < kMaxima) {
    const float value = few.team_maxima[i];
    int rank = 0;
    for (int j = 0; j < kMaxima; ++j) {
      const float other = few.team_maxima[j];
      rank += other > value || (other == value && j < i) ? 1 : 0;
    }
    if (rank == k - 1) {
      few.bound = value;
    }
  }
  __syncthreads();
  return few.bound;
}

// Collects elements of the row in few.all of the team's first block, the k largest of those above
// -infinity among them, and returns how many; -1, in all blocks, if they are too many. `own` is the
// largest value of this thread's part.
template <typename Team>
__device__ int gather_largest(SelectShared& shared, const float* values, int begin, int end, int k,
                              float own) {
  FewShared& few = shared.few;
  const float bound = bound_of_largest<Team>(few, k, own);
  for_each_value(values, begin, end, [&](float value, int index) {
    if (value >= bound && value > -INFINITY) {
      const int place = atomicAdd(&few.own.count, 1);
      if (place < Candidates::kMost) {
        few.own.values[place] = value;
        few.own.ids[place] = index;
      }
    }
  });
  Team::sync();
  int total = 0;
  for (int r = 0; r < Team::kSize; ++r) {
    const int count = *Team::of(&few.own.count, r);
    const auto i = static_cast<int>(threadIdx.x);
    if (Team::rank() == 0 && i < count && total + i < Candidates::kMost) {
      few.all.values[total + i] = Team::of(few.own.values, r)[i];
      few.all.ids[total + i] = Team::of(few.own.ids, r)[i];
    }
    total += count;
  }
  Team::sync();
  return total <= Candidates::kMost ? total : -1;
}

// Draws from the list in the first block; all threads of the team get the token, or -1. `largest`
// is the row's largest value.
template <typename Team>
__device__ int draw_from_few(SelectShared& shared, const CudaSamplingRow& row, int count,
                             float largest) {
  FewShared& few = shared.few;
  const Candidates& all = few.all;
  float* weights = few.own.values;  // [count], of top_k and min_p
  float* kept = few.team_maxima;    // [count], of top_p, too
  static_assert(Candidates::kMost <= kWarp * kWarp);
  const auto i = static_cast<int>(threadIdx.x);
  if (i == 0) {
    shared.best_index = -1;
  }
  if (Team::rank() == 0) {
    const bool here = i < count;
    float weight = 0.0F;
    if (here) {
      if (rank_of(all, count, i) < row.top_k) {
        weight =
            device_sampling_weight(__fdiv_rn(__fsub_rn(all.values[i], largest), row.temperature));
        weight = weight >= __fmul_rn(row.min_p, kSamplingUnit) ? weight : 0.0F;
      }
      weights[i] = weight;
    }
    __syncthreads();
    if (here) {
      Mass sum = 0;
      Mass before = 0;
      for (int j = 0; j < count; ++j) {
        const auto mass = static_cast<Mass>(weights[j]);
        sum += mass;
        before += is_better({weights[j], all.ids[j]}, {weight, all.ids[i]}) ? mass : 0;
      }
      const double target = static_cast<double>(row.top_p) * static_cast<double>(sum);
      const bool is_kept = row.top_p >= 1.0F || before == 0 || static_cast<double>(before) < target;
      kept[i] = is_kept ? weight : 0.0F;
    }
    __syncthreads();
    if (here) {
      Mass sum = 0;
      Mass before = 0;
      for (int j = 0; j < count; ++j) {
        const auto mass = static_cast<Mass>(kept[j]);
        sum += mass;
        before += all.ids[j] < all.ids[i] ? mass : 0;
      }
      const double target = static_cast<double>(row.uniform) * static_cast<double>(sum);
      const auto own = static_cast<Mass>(kept[i]);
      if (static_cast<double>(before) <= target && target < static_cast<double>(before + own)) {
        shared.best_index = all.ids[i];
      }
    }
  }
  Team::sync();
  const int token = *Team::of(&shared.best_index, 0);
  Team::sync();
  return token;
}

}  // namespace deltaserve::cuda
