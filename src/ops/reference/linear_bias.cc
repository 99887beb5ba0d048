// linear_bias of the reference backend.
#include <cmath>
#include <numbers>
#include <vector>

#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve::reference {
namespace {

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluTanh: {
      const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1.0 + std::tanh(inner));
    }
    case Activation::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  }
  return x;
}

}  // namespace

void linear_bias(DType x_dtype, const LinearBiasArgs& args) {
  const LinearArgs& linear = args.linear;
  const auto& weight = static_cast<const ReferenceLinear&>(*linear.weight);
  const DType out_dtype = linear.out_float ? DType::kF32 : x_dtype;
  std::vector<float> out(static_cast<size_t>(weight.N));
  for (int64_t m = 0; m < linear.M; ++m) {
    const std::vector<float> x = load_row(x_dtype, linear.x, m * linear.x_stride, weight.K);
    vector_times_matrix(x.data(), weight.values.data(), weight.K, weight.N, out.data());
    for (int64_t n = 0; n < weight.N; ++n) {
      const double sum = static_cast<double>(out[static_cast<size_t>(n)]) + args.bias[n];
      store(out_dtype, linear.out, m * linear.out_stride + n,
            static_cast<float>(activate(args.activation, sum)));
    }
  }
}

}  // namespace deltaserve::reference
