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

constexpr int64_t kFirstBucket = std::bit_cast<uint32_t>(1.0F) >> kBucketShift;

int64_t bucket_of(float weight) {
  return static_cast<int64_t>(std::bit_cast<uint32_t>(weight) >> kBucketShift) - kFirstBucket;
}

float first_of_bucket(int64_t bucket) {
  return std::bit_cast<float>(static_cast<uint32_t>(bucket + kFirstBucket) << kBucketShift);
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

double sum_of_values(const Candidate* begin, const Candidate* end) {
  double sum = 0.0;
  for (; begin != end; ++begin) {
    sum += begin->value;
  }
  return sum;
}

WeightRange guess_cut(const float* weights, int64_t count, double lighter) {
  constexpr int64_t kStride = 32;  // of blocks: 8,000 weights of 248,000
  // Buckets are 3 % wide. The sample's share of the light weights is right within 1 to 2 %.
  constexpr int64_t kMargin = 3;
  std::array<double, kBuckets> sums{};
  int64_t seen = 0;
  for (int64_t begin = 0; begin < count; begin += kStride * kSampleBlock) {
    const int64_t end = std::min(begin + kSampleBlock, count);
    for (int64_t i = begin; i < end; ++i) {
      if (weights[i] >= 1.0F) {
        sums[static_cast<size_t>(bucket_of(weights[i]))] += weights[i];
      }
    }
    seen += end - begin;
  }
  double left = lighter * static_cast<double>(seen) / static_cast<double>(count);
  int64_t bucket = 0;
  while (bucket < kBuckets - 1 && left > sums[static_cast<size_t>(bucket)]) {
    left -= sums[static_cast<size_t>(bucket++)];
  }
  return {.low = first_of_bucket(std::max<int64_t>(bucket - kMargin, 0)),
          .high = first_of_bucket(bucket + kMargin + 1)};
}

TopP keep_top_p(Candidate* candidates, int64_t count, double target, double before) {
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
    const double sum = before + sum_of_values(low, middle);
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
