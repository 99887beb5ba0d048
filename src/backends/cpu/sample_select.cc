#include "backends/cpu/sample_select.h"

#include <algorithm>
#include <array>
#include <bit>

#include "ops/sampling_math.h"

namespace deltaserve {
namespace {

// Weights are integers in [1, 2^32]: a bucket is an exponent and the top five mantissa bits.
constexpr int kBucketShift = 23 - 5;
constexpr int64_t kBuckets = 33 << 5;

int64_t bucket_of(float weight) {
  const int64_t first = std::bit_cast<uint32_t>(1.0F) >> kBucketShift;
  return static_cast<int64_t>(std::bit_cast<uint32_t>(weight) >> kBucketShift) - first;
}

double sum_of(const Candidate* begin, const Candidate* end) {
  double sum = 0.0;
  for (; begin != end; ++begin) {
    sum += begin->value;
  }
  return sum;
}

// Moves the candidates of the bucket in which the sum reaches target to the front of the array;
// returns how many. `before` becomes the sum of all heavier buckets.
int64_t crossing_bucket(Candidate* candidates, int64_t count, double target, double& before) {
  std::array<double, kBuckets> sums{};
  for (int64_t i = 0; i < count; ++i) {
    sums[static_cast<size_t>(bucket_of(candidates[i].value))] += candidates[i].value;
  }
  int64_t bucket = kBuckets - 1;
  const auto sum_at = [&](int64_t b) { return sums[static_cast<size_t>(b)]; };
  // The last bucket that has any candidate ends the search: rounding of target never passes it.
  int64_t lightest = 0;
  while (sum_at(lightest) == 0.0) {
    ++lightest;
  }
  while (bucket > lightest && (sum_at(bucket) == 0.0 || before + sum_at(bucket) < target)) {
    before += sum_at(bucket--);
  }
  Candidate* end = std::partition(candidates, candidates + count, [&](const Candidate& candidate) {
    return bucket_of(candidate.value) == bucket;
  });
  return end - candidates;
}

}  // namespace

TopP keep_top_p(Candidate* candidates, int64_t count, double target) {
  double before = 0.0;
  constexpr int64_t kFewCandidates = 4096;  // below it, clearing and filling buckets costs more
  if (count > kFewCandidates) {
    count = crossing_bucket(candidates, count, target, before);
  }
  // Halve the range that holds the last kept candidate; sums are exact, so the order is free.
  Candidate* low = candidates;
  Candidate* high = candidates + count;
  while (high - low > 1) {
    Candidate* middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, comes_before);
    const double sum = before + sum_of(low, middle);
    if (sum < target) {
      before = sum;
      low = middle;
    } else {
      high = middle;
    }
  }
  return {.cut = {.weight = low->value, .token = low->token}, .sum = before + low->value};
}

}  // namespace deltaserve
