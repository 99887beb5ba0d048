// linear of the reference backend.
#include <vector>

#include "base/check.h"
#include "ops/reference/reference_ops.h"
#include "ops/reference/reference_weights.h"

namespace deltaserve::reference {

void linear(DType x_dtype, const LinearArgs& args) {
  DS_CHECK(args.x_scale.squares == nullptr, "rows of another backend's linear_norm");
  const auto& weight = static_cast<const ReferenceLinear&>(*args.weight);
  const DType out_dtype = args.out_float ? DType::kF32 : x_dtype;
  std::vector<float> out(static_cast<size_t>(weight.N));
  for (int64_t m = 0; m < args.M; ++m) {
    const std::vector<float> x = load_row(x_dtype, args.x, m * args.x_stride, weight.K);
    vector_times_matrix(x.data(), weight.values.data(), weight.K, weight.N, out.data());
    for (int64_t n = 0; n < weight.N; ++n) {
      store(out_dtype, args.out, m * args.out_stride + n, out[static_cast<size_t>(n)]);
    }
  }
}

}  // namespace deltaserve::reference
