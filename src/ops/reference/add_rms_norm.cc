// add_rms_norm of the reference backend.
#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

void add_rms_norm(DType x_dtype, const AddRmsNormArgs& args) {
  for (int64_t t = 0; t < args.T; ++t) {
    float* row = args.residual + t * args.H;
    for (int64_t i = 0; i < args.H && args.delta != nullptr; ++i) {
      row[i] += args.delta[t * args.H + i];
    }
    const float scale = inverse_rms(row, args.H, args.eps);
    for (int64_t i = 0; i < args.H; ++i) {
      store(x_dtype, args.out, t * args.H + i, row[i] * scale * (1.0F + args.weight[i]));
    }
  }
}

}  // namespace deltaserve::reference
