// add_rms_norm of the reference backend: the sum is rounded to X before it is normalised.
#include <vector>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {

void add_rms_norm(DType x_dtype, const AddRmsNormArgs& args) {
  std::vector<float> row(static_cast<size_t>(args.H));
  for (int64_t t = 0; t < args.T; ++t) {
    for (int64_t i = 0; i < args.H; ++i) {
      const int64_t at = t * args.H + i;
      float value = load(x_dtype, args.residual, at);
      if (args.delta != nullptr) {
        value = round_to(x_dtype, value + load(x_dtype, args.delta, at));
        store(x_dtype, args.residual, at, value);
      }
      row[static_cast<size_t>(i)] = value;
    }
    const float scale = inverse_rms(row.data(), args.H, args.eps);
    for (int64_t i = 0; i < args.H; ++i) {
      store(x_dtype, args.out, t * args.H + i,
            row[static_cast<size_t>(i)] * scale * (1.0F + args.weight[i]));
    }
  }
}

}  // namespace deltaserve::reference
