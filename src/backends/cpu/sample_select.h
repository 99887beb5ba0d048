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

double sum_of_values(const Candidate* begin, const Candidate* end);

struct TopP {
  SampleCut cut;     // the last token kept
  double sum = 0.0;  // of the kept weights
};

// Of candidates with integer weights (ops/sampling_math.h): the first in `comes_before` order, and
// the following ones as long as the sum before them is below target. Reorders the candidates.
// `before`: the sum of heavier tokens that are not among them, below target.
TopP keep_top_p(Candidate* candidates, int64_t count, double target, double before = 0.0);

struct WeightRange {
  float low = 0.0F;
  float high = 0.0F;  // itself not included
};

// Where the lightest of `count` weights, those that weigh `lighter` together, end: a narrow range
// that a 32nd of the weights points at. It can miss; the caller has to look.
WeightRange guess_cut(const float* weights, int64_t count, double lighter);

}  // namespace deltaserve
