// moe_block: the norm, the router, the experts and the residual as few launches as the number of
// tokens allows. One takes one (moe_one.cu), a handful three (moe_few.cu); a decode step the norm,
// the routing products (moe_route.cu), the choice with its sort, two products of experts and the
// sum; a prompt the separate ops, except that the router's product has a width that cuBLASLt is
// fast with and that the sum goes to the residual at once. So does every step where a row's bits
// must not depend on how many there are.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "ops/moe_block.h"

namespace deltaserve {
namespace cuda {
namespace {

// The router's rows are one more than the experts, and cuBLASLt is ten times slower with such a
// number. Weights end with zero rows up to a multiple of kRowMultiple, and the rows of logits have
// room for them.
void launch_router(CudaContext& context, const MoeBlockArgs& args) {
  const auto& router = static_cast<const CudaLinear&>(*args.router);
  launch_matmul(context, {.M = args.T,
                          .N = ceil_div(router.N, kRowMultiple) * kRowMultiple,
                          .K = router.K,
                          .x = args.x,
                          .x_stride = args.H,
                          .weight = router.values.data(),
                          .out = args.logits,
                          .out_stride = args.logits_stride,
                          .out_float = true});
}

MoeSort sort_arrays(const MoeBlockArgs& args, const MoeBuffers& buffers) {
  return moe_sort_arrays(buffers.sort, args.T, args.K, args.experts->E);
}

// The routing products, which other ops make too: these have scratch of their own and may move it,
// so that a block's buffers are asked for afterwards.
void launch_routing(CudaContext& context, const MoeBlockArgs& args) {
  launch_add_rms_norm(context, moe_norm_args(args));
  if (args.T <= kMoeRouteTokens && !context.batch_invariant) {
    launch_moe_route(context, args);
    return;
  }
  launch_router(context, args);
  launch_gate_up_silu(context, moe_shared_gate_up_args(args));
  launch_linear(context, moe_shared_down_args(args));
}

void launch_decode_block(CudaContext& context, const MoeBlockArgs& args,
                         const MoeBuffers& buffers) {
  const auto& down = static_cast<const CudaLinear&>(*args.shared_down);
  MoeSharedDown shared;
  if (args.T <= kMoeRouteTokens) {
    shared = {.weight = down.values.data(),
              .columns = down.K,
              .x = args.inner,
              .x_stride = args.inner_stride,
              .out = args.shared};
  }
  launch_moe_topk_sort(context, moe_topk_args(args), sort_arrays(args, buffers));
  launch_moe_decode(context, moe_args(args, args.residual), buffers, shared);
}

// Sizes that all tensor core forms of the parts serve.
bool serves_block(const CudaContext& context, const MoeBlockArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  return moe_has_tensor_form(context, experts, args.T) && args.router->N == experts.E + 1 &&
         args.shared_gate_up->I % 64 == 0 &&
         args.logits_stride >= ceil_div(args.router->N, kRowMultiple) * kRowMultiple;
}

}  // namespace
}  // namespace cuda

bool launch_moe_block(CudaContext& context, const MoeBlockArgs& args) {
  if (!cuda::serves_block(context, args)) {
    return false;
  }
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  if (!context.batch_invariant && cuda::serves_moe_one(context, args)) {
    cuda::launch_moe_one(context, args);
    return true;
  }
  if (!context.batch_invariant && cuda::serves_moe_few(context, args)) {
    cuda::launch_moe_few(context, args, cuda::moe_buffers(context, args.T, args.K, experts));
    return true;
  }
  cuda::launch_routing(context, args);
  const cuda::MoeBuffers buffers = cuda::moe_buffers(context, args.T, args.K, experts);
  const MoeArgs moe = moe_args(args, args.residual);
  if (cuda::moe_takes_grouped(context, experts, args.T)) {
    launch_moe_topk(context, moe_topk_args(args));
    launch_moe_sort(context, moe, cuda::sort_arrays(args, buffers));
    launch_moe_grouped(context, moe, buffers);
  } else {
    cuda::launch_decode_block(context, args, buffers);
  }
  cuda::launch_moe_combine(context, moe, buffers, true);
  return true;
}

}  // namespace deltaserve
