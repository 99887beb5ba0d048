// add_layer_norm of the reference backend: sums in double, two passes.
#include <cmath>

#include "ops/reference/reference_ops.h"

namespace deltaserve::reference {
namespace {

void norm_row(DType x_dtype, const AddLayerNormArgs& args, int64_t t) {
  const float* row = args.residual + t * args.H;
  const auto count = static_cast<double>(args.H);
  double sum = 0.0;
  for (int64_t i = 0; i < args.H; ++i) {
    sum += row[i];
  }
  const double mean = sum / count;
  double squares = 0.0;
  for (int64_t i = 0; i < args.H; ++i) {
    const double distance = row[i] - mean;
    squares += distance * distance;
  }
  const double scale = 1.0 / std::sqrt(squares / count + args.eps);
  for (int64_t i = 0; i < args.H; ++i) {
    const double normal = (row[i] - mean) * scale;
    store(x_dtype, args.out, t * args.H + i,
          static_cast<float>(normal * args.weight[i] + args.bias[i]));
  }
}

}  // namespace

void add_layer_norm(DType x_dtype, const AddLayerNormArgs& args) {
  for (int64_t i = 0; args.delta != nullptr && i < args.T * args.H; ++i) {
    args.residual[i] += args.delta[i];
  }
  for (int64_t t = 0; t < args.T; ++t) {
    norm_row(x_dtype, args, t);
  }
}

}  // namespace deltaserve::reference
