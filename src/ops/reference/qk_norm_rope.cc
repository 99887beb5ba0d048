// qk_norm_rope of the reference backend: float32 throughout, one rounding.
#include <cmath>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

struct Rotation {
  int32_t half = 0;           // rotary_dim / 2
  std::vector<float> cosine;  // [half]
  std::vector<float> sine;    // [half]
};

Rotation rotation_of_token(const QkNormRopeArgs& args, int64_t t) {
  Rotation rotation{.half = args.rotary_dim / 2, .cosine = {}, .sine = {}};
  for (int32_t j = 0; j < rotation.half; ++j) {
    const int64_t axis = args.mrope_axis[j];
    const auto position =
        static_cast<float>(args.batch->positions[axis * args.batch->num_tokens + t]);
    const float angle = position * args.inv_freq[j];
    rotation.cosine.push_back(std::cos(angle) * args.attention_factor);
    rotation.sine.push_back(std::sin(angle) * args.attention_factor);
  }
  return rotation;
}

void norm_and_rotate(DType x_dtype, void* data, int64_t first, int32_t head_dim,
                     const float* weight, float eps, const Rotation& rotation) {
  std::vector<float> x(static_cast<size_t>(head_dim));
  for (int32_t d = 0; d < head_dim; ++d) {
    x[static_cast<size_t>(d)] = load(x_dtype, data, first + d);
  }
  const float scale = inverse_rms(x.data(), head_dim, eps);
  for (int32_t d = 0; d < head_dim; ++d) {
    x[static_cast<size_t>(d)] = x[static_cast<size_t>(d)] * scale * (1.0F + weight[d]);
  }
  const auto half = static_cast<size_t>(rotation.half);
  for (size_t low = 0; low < half; ++low) {
    const size_t high = low + half;
    const float a = x[low];
    const float b = x[high];
    x[low] = a * rotation.cosine[low] - b * rotation.sine[low];
    x[high] = b * rotation.cosine[low] + a * rotation.sine[low];
  }
  for (int32_t d = 0; d < head_dim; ++d) {
    store(x_dtype, data, first + d, x[static_cast<size_t>(d)]);
  }
}

}  // namespace

void qk_norm_rope(DType x_dtype, const QkNormRopeArgs& args) {
  for (int64_t t = 0; t < args.batch->num_tokens; ++t) {
    const Rotation rotation = rotation_of_token(args, t);
    for (int64_t h = 0; h < args.num_heads; ++h) {
      norm_and_rotate(x_dtype, args.q, t * args.q_stride + h * args.q_head_stride, args.head_dim,
                      args.q_weight, args.eps, rotation);
    }
    for (int64_t h = 0; h < args.num_kv_heads; ++h) {
      norm_and_rotate(x_dtype, args.k, t * args.k_stride + h * args.head_dim, args.head_dim,
                      args.k_weight, args.eps, rotation);
    }
  }
}

}  // namespace deltaserve::reference
