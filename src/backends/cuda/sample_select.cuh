// Selection over a row of logits without sorting: the threshold of the k largest, or of the
// smallest set that holds a given mass, by a radix search on 32-bit keys (11, 11 and 10 bits).
// Counts and masses are integers, so no result depends on the order in which blocks add.
#pragma once

#include "backends/cuda/sample_row.cuh"

namespace deltaserve::cuda {

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
