// sample of the reference backend: every step of ops/sampling.h over the whole vocabulary, with
// full sorts.
#include "ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/reference/reference_ops.h"
#include "ops/sampling_math.h"

namespace deltaserve::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// NaN or +Inf; -Inf is a token that cannot occur, which is legal.
bool is_broken(float logit) {
  return std::isnan(logit) || logit == kInfinity;
}

bool any_broken(const std::vector<float>& logits) {
  return std::any_of(logits.begin(), logits.end(), is_broken);
}

void apply_penalties(const SamplingRow& row, std::vector<float>& logits) {
  for (int32_t i = 0; i < row.num_counts; ++i) {
    const TokenCount& count = row.counts[i];
    if (count.token < 0 || static_cast<size_t>(count.token) >= logits.size()) {
      continue;  // a padding row of the head: never drawn
    }
    float& logit = logits[static_cast<size_t>(count.token)];
    logit = logit > 0.0F ? logit / row.repetition_penalty : logit * row.repetition_penalty;
    logit -= row.frequency_penalty * static_cast<float>(count.in_output);
    logit -= count.in_output > 0 ? row.presence_penalty : 0.0F;
  }
}

std::vector<float> adjusted_logits(const SamplingRow& row, const std::vector<float>& logits) {
  std::vector<float> out = logits;
  const auto in_range = [&](int32_t token) {
    return token >= 0 && static_cast<size_t>(token) < out.size();
  };
  for (size_t i = 0; row.allowed != nullptr && i < out.size(); ++i) {
    if ((row.allowed[i / 64] >> (i % 64) & 1) == 0) {
      out[i] = -kInfinity;
    }
  }
  for (int32_t i = 0; i < row.num_logit_bias; ++i) {
    if (in_range(row.logit_bias[i].token)) {
      out[static_cast<size_t>(row.logit_bias[i].token)] += row.logit_bias[i].bias;
    }
  }
  for (int32_t i = 0; i < row.num_banned; ++i) {
    if (in_range(row.banned[i])) {
      out[static_cast<size_t>(row.banned[i])] = -kInfinity;
    }
  }
  apply_penalties(row, out);
  return out;
}

// Ids in descending order of value, lower id first among equals.
std::vector<int32_t> descending(const std::vector<float>& values) {
  std::vector<int32_t> order(values.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int32_t>(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
  });
  return order;
}

double sum_of(const std::vector<float>& weights) {
  double sum = 0.0;
  for (const float weight : weights) {
    sum += weight;
  }
  return sum;
}

void keep_top_k(int32_t top_k, const std::vector<float>& logits, std::vector<float>& weights) {
  const std::vector<int32_t> order = descending(logits);
  for (size_t rank = static_cast<size_t>(top_k); rank < order.size(); ++rank) {
    weights[static_cast<size_t>(order[rank])] = 0.0F;
  }
}

void keep_top_p(float top_p, std::vector<float>& weights) {
  const double target = static_cast<double>(top_p) * sum_of(weights);
  const std::vector<int32_t> order = descending(weights);
  double before = 0.0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    float& weight = weights[static_cast<size_t>(order[rank])];
    const float own = weight;
    if (rank > 0 && !(before < target)) {
      weight = 0.0F;
    }
    before += own;
  }
}

int32_t draw(const SamplingRow& row, const std::vector<float>& logits, float largest) {
  std::vector<float> weights;
  for (const float logit : logits) {
    const float weight = sampling_weight((logit - largest) / row.temperature);
    weights.push_back(weight >= row.min_p * kSamplingUnit ? weight : 0.0F);
  }
  if (row.top_k > 0) {
    keep_top_k(row.top_k, logits, weights);
  }
  if (row.top_p < 1.0F) {
    keep_top_p(row.top_p, weights);
  }
  const double target = static_cast<double>(uniform_draw(row.seed, row.position)) * sum_of(weights);
  double sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum > target) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

void add_logprobs(const SamplingRow& row, const std::vector<float>& logits, SampledToken& out) {
  const std::vector<int32_t> order = descending(logits);
  const double largest = logits[static_cast<size_t>(order[0])];
  double sum = 0.0;
  for (const float logit : logits) {
    sum += std::exp(logit - largest);
  }
  const double log_sum = largest + std::log(sum);
  const auto logprob = [&](int32_t token) {
    return static_cast<float>(logits[static_cast<size_t>(token)] - log_sum);
  };
  out.logprob = logprob(out.token);
  for (size_t i = 0; i < static_cast<size_t>(row.num_logprobs) && i < order.size(); ++i) {
    out.top.push_back({order[i], logprob(order[i])});
  }
}

SampledToken sample_row(const SamplingRow& row, const std::vector<float>& logits) {
  SampledToken out;
  const std::vector<float> adjusted = adjusted_logits(row, logits);
  const float largest = *std::max_element(adjusted.begin(), adjusted.end());
  if (any_broken(logits) || any_broken(adjusted) || largest == -kInfinity) {
    out.finite = false;
    return out;
  }
  out.token = row.temperature == 0.0F
                  ? static_cast<int32_t>(std::max_element(adjusted.begin(), adjusted.end()) -
                                         adjusted.begin())
                  : draw(row, adjusted, largest);
  if (row.num_logprobs >= 0) {
    add_logprobs(row, logits, out);
  }
  return out;
}

}  // namespace

void sample(const SampleArgs& args) {
  for (int64_t b = 0; b < args.B; ++b) {
    const float* logits = args.logits + b * args.logits_stride;
    args.out[b] = sample_row(args.rows[b], std::vector<float>(logits, logits + args.V));
  }
}

}  // namespace deltaserve::reference
