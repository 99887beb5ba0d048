// vision_rope of the reference backend: float32 angles, one rounding.
#include <cmath>
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

void rotate_head(DType x_dtype, const VisionRopeArgs& args, int64_t t, void* data, int64_t first) {
  const int64_t half = args.head_dim / 2;
  const int64_t quarter = args.head_dim / 4;
  for (int64_t j = 0; j < half; ++j) {
    const int32_t position = j < quarter ? args.rows[t] : args.columns[t];
    const float angle = static_cast<float>(position) * args.inv_freq[j % quarter];
    const float a = load(x_dtype, data, first + j);
    const float b = load(x_dtype, data, first + half + j);
    store(x_dtype, data, first + j, a * std::cos(angle) - b * std::sin(angle));
    store(x_dtype, data, first + half + j, b * std::cos(angle) + a * std::sin(angle));
  }
}

}  // namespace

void vision_rope(DType x_dtype, const VisionRopeArgs& args) {
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t h = 0; h < args.num_heads; ++h) {
      for (void* data : {args.q, args.k}) {
        rotate_head(x_dtype, args, t, data, t * args.stride + h * args.head_dim);
      }
    }
  }
}

}  // namespace deltaserve::reference
