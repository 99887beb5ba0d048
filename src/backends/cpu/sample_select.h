// Selections among candidate tokens: the k best, and the smallest set that reaches a sum of
// weights.
#pragma once

#include <cstdint>

#include "backends/cpu/sample_scan.h"

namespace deltaserve {

struct Candidate {
  float value = 0.0F;  // a logit or a weight
  int32_t token = 0;
};

// Descending value, lower id first among equals: the order of every cut in sampling.
inline bool comes_before(const Candidate& a, const Candidate& b) {
  return a.value != b.value ? a.value > b.value : a.token < b.token;
}

struct TopP {
  SampleCut cut;     // the last token kept
  double sum = 0.0;  // of the kept weights
};

// Of candidates with integer weights (ops/sampling_math.h): the first in `comes_before` order, and
// the following ones as long as the sum before them is below target. Reorders the candidates.
TopP keep_top_p(Candidate* candidates, int64_t count, double target);

}  // namespace deltaserve
