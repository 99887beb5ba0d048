// gated_rms_norm of the reference backend: norm first, gate after, one rounding.
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

void gated_rms_norm(DType x_dtype, const GatedRmsNormArgs& args) {
  std::vector<float> row(static_cast<size_t>(args.head_dim));
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t h = 0; h < args.num_heads; ++h) {
      const int64_t head = h * args.head_dim;
      for (int64_t d = 0; d < args.head_dim; ++d) {
        row[static_cast<size_t>(d)] = load(x_dtype, args.x, t * args.x_stride + head + d);
      }
      const float scale = inverse_rms(row.data(), args.head_dim, args.eps);
      for (int64_t d = 0; d < args.head_dim; ++d) {
        const float z = load(x_dtype, args.z, t * args.z_stride + head + d);
        store(x_dtype, args.out, t * args.out_stride + head + d,
              args.weight[d] * (row[static_cast<size_t>(d)] * scale) * silu(z));
      }
    }
  }
}

}  // namespace deltaserve::reference
