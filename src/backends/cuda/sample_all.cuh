// The draw from a whole row: radix searches find where top_k and top_p cut, and the last pass walks
// the kept weights in ascending id. Compiled without floating-point contraction: see
// ops/sampling_math.h.
#pragma once

#include "backends/cuda/sample_kept.cuh"
#include "backends/cuda/sample_kernels.h"
#include "backends/cuda/sample_team.cuh"

namespace deltaserve::cuda {

template <typename Team>
__device__ void keep_top_k(SelectShared& shared, const float* values, int begin, int end,
                           int32_t top_k, Kept& kept) {
  const auto k = static_cast<Mass>(top_k);
  const Threshold found = find_threshold<Team, false>(
      shared, values, begin, end,
      [](float value, int, unsigned& key, Mass& amount) {
        key = order_key(value);
        amount = 1;
        return true;
      },
      [k](Mass above, Mass amount) { return above < k && above + amount >= k; });
  kept.logit_tie_end =
      end_of_ties(shared, values, begin, end, found.own_equal, ties_left(k - found.above, found),
                  [&found](float value, int) { return order_key(value) == found.key; });
  kept.logit_key = found.key;
}

template <typename Team>
__device__ void keep_top_p(SelectShared& shared, const float* values, int begin, int end,
                           double target, Kept& kept) {
  const Threshold found = find_threshold<Team, true>(
      shared, values, begin, end,
      [&kept](float value, int index, unsigned& key, Mass& amount) {
        const float w = kept.weight(value, index);
        key = __float_as_uint(w);
        amount = static_cast<Mass>(w);
        return w > 0.0F;
      },
      [target](Mass above, Mass amount) {
        return amount > 0 && static_cast<double>(above + amount) >= target &&
               (above == 0 || static_cast<double>(above) < target);
      });
  const auto weight = static_cast<Mass>(__uint_as_float(found.key));
  Threshold counts = found;  // of equal weights: masses become numbers
  counts.equal = found.equal / weight;
  counts.own_equal = found.own_equal / weight;
  counts.before = found.before / weight;
  const Mass taken = equals_kept(target, found.above, weight, counts.equal);
  const int tie_end = end_of_ties(shared, values, begin, end, counts.own_equal,
                                  ties_left(taken, counts), [&](float value, int index) {
                                    return __float_as_uint(kept.weight(value, index)) == found.key;
                                  });
  kept.weight_key = found.key;
  kept.weight_tie_end = tie_end;
}

// Sum of the kept weights of this block's part. Threads take consecutive pieces, so that the prefix
// over threads is the prefix over ids; `own` gets the thread's sum and `first` its piece.
template <typename Team>
__device__ Mass kept_sum(SelectShared& shared, const float* values, int begin, int end,
                         const Kept& kept) {
  Mass sum = 0;
  for_each_value(values, begin, end, [&](float value, int index) {
    sum += static_cast<Mass>(kept.weight(value, index));
  });
  Mass total = 0;
  block_prefix(sum, shared.partial, total);
  return total;
}

template <typename Team>
__device__ int draw_from_all(SelectShared& shared, const CudaSamplingRow& row, const float* values,
                             int begin, int end, int V, float largest) {
  Kept kept{.largest = largest,
            .temperature = row.temperature,
            .least_weight = __fmul_rn(row.min_p, kSamplingUnit)};
  if (row.top_k > 0 && row.top_k < V) {
    keep_top_k<Team>(shared, values, begin, end, row.top_k, kept);
  }
  if (row.top_p < 1.0F) {
    const TeamSum sum = team_sum<Team>(shared, kept_sum<Team>(shared, values, begin, end, kept));
    const double target = static_cast<double>(row.top_p) * static_cast<double>(sum.total);
    keep_top_p<Team>(shared, values, begin, end, target, kept);
  }
  const int piece = (end - begin + kSampleThreads - 1) / kSampleThreads;
  const int first = begin + static_cast<int>(threadIdx.x) * piece;
  const int last = first + piece < end ? first + piece : end;
  Mass own = 0;
  for (int i = first; i < last; ++i) {
    own += static_cast<Mass>(kept.weight(values[i], i));
  }
  Mass block_total = 0;
  const Mass thread_before = block_prefix(own, shared.partial, block_total);
  const TeamSum sum = team_sum<Team>(shared, block_total);
  const double target = static_cast<double>(row.uniform) * static_cast<double>(sum.total);
  Mass taken = sum.before + thread_before;
  Best drawn;
  if (static_cast<double>(taken) <= target && target < static_cast<double>(taken + own)) {
    for (int i = first; i < last && drawn.index == INT_MAX; ++i) {
      taken += static_cast<Mass>(kept.weight(values[i], i));
      if (static_cast<double>(taken) > target) {
        drawn = {.value = 0.0F, .index = i};
      }
    }
  }
  drawn = team_best<Team>(shared, drawn);
  return drawn.index == INT_MAX ? -1 : drawn.index;
}

}  // namespace deltaserve::cuda
