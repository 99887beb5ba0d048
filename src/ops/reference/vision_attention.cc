// vision_attention of the reference backend: one query row at a time, scores of all keys of its
// segment, softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

// One query row of one head against keys [begin, end).
void attend(DType x_dtype, const VisionAttentionArgs& args, int64_t t, int64_t h, int64_t begin,
            int64_t end) {
  const int64_t hd = args.head_dim;
  std::vector<float> scores;
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t j = begin; j < end; ++j) {
    double dot = 0.0;
    for (int64_t d = 0; d < hd; ++d) {
      dot += static_cast<double>(load(x_dtype, args.q, t * args.q_stride + h * hd + d)) *
             load(x_dtype, args.k, j * args.kv_stride + h * hd + d);
    }
    scores.push_back(static_cast<float>(dot) * args.scale);
    largest = std::max(largest, scores.back());
  }
  double total = 0.0;
  std::vector<double> out(static_cast<size_t>(hd), 0.0);
  for (int64_t j = begin; j < end; ++j) {
    const double weight = std::exp(scores[static_cast<size_t>(j - begin)] - largest);
    total += weight;
    for (int64_t d = 0; d < hd; ++d) {
      out[static_cast<size_t>(d)] +=
          weight * load(x_dtype, args.v, j * args.kv_stride + h * hd + d);
    }
  }
  for (int64_t d = 0; d < hd; ++d) {
    store(x_dtype, args.out, t * args.out_stride + h * hd + d,
          static_cast<float>(out[static_cast<size_t>(d)] / total));
  }
}

}  // namespace

void vision_attention(DType x_dtype, const VisionAttentionArgs& args) {
  for (int64_t s = 0; s < args.num_segments; ++s) {
    for (int64_t t = args.cu_queries[s]; t < args.cu_queries[s + 1]; ++t) {
      for (int64_t h = 0; h < args.num_heads; ++h) {
        attend(x_dtype, args, t, h, args.cu_keys[s], args.cu_keys[s + 1]);
      }
    }
  }
}

}  // namespace deltaserve::reference
