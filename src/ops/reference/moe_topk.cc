// moe_topk of the reference backend.
#include <cmath>
#include <limits>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

std::vector<float> softmax(const float* logits, int64_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    largest = logits[i] > largest ? logits[i] : largest;
  }
  std::vector<float> p;
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    p.push_back(std::exp(logits[i] - largest));
    sum += p.back();
  }
  for (float& value : p) {
    value = static_cast<float>(value / sum);
  }
  return p;
}

// Marks the K largest; equal values, and NaN, go to the lower id first.
std::vector<bool> largest_k(const std::vector<float>& p, int64_t K) {
  std::vector<bool> chosen(p.size(), false);
  for (int64_t n = 0; n < K; ++n) {
    size_t best = p.size();
    for (size_t e = 0; e < p.size(); ++e) {
      if (!chosen[e] && (best == p.size() || p[e] > p[best])) {
        best = e;
      }
    }
    chosen[best] = true;
  }
  return chosen;
}

}  // namespace

void moe_topk(const MoeTopkArgs& args) {
  for (int64_t t = 0; t < args.T; ++t) {
    const std::vector<float> p = softmax(args.logits + t * args.logits_stride, args.E);
    const std::vector<bool> chosen = largest_k(p, args.K);
    double sum = 0.0;
    for (size_t e = 0; e < p.size(); ++e) {
      sum += chosen[e] ? p[e] : 0.0;
    }
    int64_t at = t * args.K;
    for (size_t e = 0; e < p.size(); ++e) {
      if (chosen[e]) {
        args.expert_ids[at] = static_cast<int32_t>(e);
        args.weights[at] = args.renormalize ? static_cast<float>(p[e] / sum) : p[e];
        ++at;
      }
    }
  }
}

}  // namespace deltaserve::reference
