// linear: the own kernels for few rows where they serve the shape, else cuBLASLt.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/lt_matmul.h"
#include "backends/cuda/row_product.h"
#include "base/check.h"

namespace deltaserve {

MatmulArgs matmul_args(const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  return {.M = args.M,
          .N = weight.N,
          .K = weight.K,
          .x = args.x,
          .x_stride = args.x_stride,
          .weight = weight.values.data(),
          .out = args.out,
          .out_stride = args.out_stride,
          .out_float = args.out_float};
}

void launch_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  if (context.batch_invariant) {
    launch_invariant_linear(context, args);
    return;
  }
  if (serves_row(context, args.M, weight.K)) {
    launch_row_linear(context, args);
    return;
  }
  if (serves_streamed(context, args.M, weight.N, weight.K, args.x, args.x_stride)) {
    launch_streamed_linear(context, args);
    return;
  }
  DS_CHECK(args.x_scale.squares == nullptr, "linear_norm is for products that take its scale");
  if (context.compute_dtype == DType::kBF16 && serves_skinny(args.M, weight.N, weight.K)) {
    launch_skinny_linear(context, args);
    return;
  }
  context.matmul().run(matmul_args(args));
}

std::optional<NormScale> launch_linear_norm(CudaContext& context, const LinearNormArgs& args) {
  if (context.batch_invariant) {
    return std::nullopt;
  }
  const std::optional<NormScale> scale = launch_row_norm(context, args);
  return scale ? scale : launch_streamed_norm(context, args);
}

// From so many rows on no own kernel serves a shape, and what adding saves is worth it.
constexpr int64_t kFewestAdded = 256;

bool launch_add_linear(CudaContext& context, const LinearArgs& args) {
  if (context.batch_invariant || !args.out_float || args.M < kFewestAdded) {
    return false;
  }
  MatmulArgs matmul = matmul_args(args);
  matmul.add = true;
  context.matmul().run(matmul);
  return true;
}

}  // namespace deltaserve
