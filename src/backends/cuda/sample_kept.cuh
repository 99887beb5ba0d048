// Which elements of a row are kept by min_p, top_k and top_p, of equal ones the first.
#pragma once

#include "backends/cuda/sample_select.cuh"

namespace deltaserve::cuda {

// What is left of a token's weight after min_p, top_k and top_p.
struct Kept {
  float largest = 0.0F;
  float temperature = 1.0F;
  float least_weight = 0.0F;  // of min_p
  unsigned logit_key = 0;
  int logit_tie_end = INT_MAX;
  unsigned weight_key = 0;
  int weight_tie_end = INT_MAX;

  __device__ float weight(float logit, int index) const {
    const unsigned logit_order = order_key(logit);
    if (logit_order < logit_key || (logit_order == logit_key && index >= logit_tie_end)) {
      return 0.0F;
    }
    const float w = device_sampling_weight(__fdiv_rn(__fsub_rn(logit, largest), temperature));
    if (!(w >= least_weight)) {
      return 0.0F;
    }
    const unsigned order = __float_as_uint(w);
    return order < weight_key || (order == weight_key && index >= weight_tie_end) ? 0.0F : w;
  }
};

__device__ __forceinline__ Mass ties_left(Mass taken, const Threshold& found) {
  const Mass left = taken > found.before ? taken - found.before : 0;
  return left < found.own_equal ? left : found.own_equal;
}

// How many of equal weights are kept: those before which less than `target` has been taken.
__device__ Mass equals_kept(double target, Mass above, Mass weight, Mass equals) {
  const auto before = [&](Mass n) { return static_cast<double>(above + n * weight); };
  double quotient = (target - static_cast<double>(above)) / static_cast<double>(weight);
  quotient = quotient > 0.0 ? quotient : 0.0;
  auto n = quotient < static_cast<double>(equals) ? static_cast<Mass>(quotient) : equals;
  while (n > 0 && !(before(n - 1) < target)) {
    --n;
  }
  while (n < equals && before(n) < target) {
    ++n;
  }
  return n == 0 && above == 0 ? 1 : n;  // the most likely token is always kept
}

}  // namespace deltaserve::cuda
