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

namespace deltaserve {
namespace cuda {
namespace {

void launch_shared_down(CudaContext& context, const MoeBlockArgs& args) {
  launch_linear(context, {.M = args.T,
                          .x = args.inner,
                          .x_stride = args.inner_stride,
                          .weight = args.shared_down,
                          .out = args.shared,
                          .out_stride = args.H,
                          .out_float = true});
}

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

MoeArgs moe_args(const MoeBlockArgs& args) {
  return {.T = args.T,
          .K = args.K,
          .x = args.x,
          .x_stride = args.H,
          .experts = args.experts,
          .expert_ids = args.expert_ids,
          .weights = args.weights,
          .shared = args.shared,
          .shared_gate = args.logits + args.experts->E,
          .shared_gate_stride = args.logits_stride,
          .out = args.residual};
}

MoeTopkArgs topk_args(const MoeBlockArgs& args) {
  return {.T = args.T,
          .E = static_cast<int32_t>(args.experts->E),
          .K = args.K,
          .logits = args.logits,
          .logits_stride = args.logits_stride,
          .renormalize = args.renormalize,
          .expert_ids = args.expert_ids,
          .weights = args.weights};
}

MoeSort sort_arrays(const MoeBlockArgs& args, const MoeBuffers& buffers) {
  return moe_sort_arrays(buffers.sort, args.T, args.K, args.experts->E);
}

void launch_gate_up(CudaContext& context, const MoeBlockArgs& args) {
  launch_gate_up_silu(context, {.M = args.T,
                                .x = args.x,
                                .x_stride = args.H,
                                .weight = args.shared_gate_up,
                                .out = args.inner,
                                .out_stride = args.inner_stride});
}

// The routing products, which other ops make too: these have scratch of their own and may move it,
// so that a block's buffers are asked for afterwards.
void launch_routing(CudaContext& context, const MoeBlockArgs& args) {
  launch_add_rms_norm(context, {.T = args.T,
                                .H = args.H,
                                .residual = args.residual,
                                .delta = args.delta,
                                .weight = args.norm_weight,
                                .eps = args.eps,
                                .out = args.x});
  if (args.T <= kMoeRouteTokens && !context.batch_invariant) {
    launch_moe_route(context, args);
    return;
  }
  launch_router(context, args);
  launch_gate_up(context, args);
  launch_shared_down(context, args);
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
  launch_moe_topk_sort(context, topk_args(args), sort_arrays(args, buffers));
  launch_moe_decode(context, moe_args(args), buffers, shared);
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
    cuda::launch_moe_one(context, args, cuda::moe_buffers(context, args.T, args.K, experts));
    return true;
  }
  if (!context.batch_invariant && cuda::serves_moe_few(context, args)) {
    cuda::launch_moe_few(context, args, cuda::moe_buffers(context, args.T, args.K, experts));
    return true;
  }
  cuda::launch_routing(context, args);
  const cuda::MoeBuffers buffers = cuda::moe_buffers(context, args.T, args.K, experts);
  if (cuda::moe_takes_grouped(context, experts, args.T)) {
    launch_moe_topk(context, cuda::topk_args(args));
    launch_moe_sort(context, cuda::moe_args(args), cuda::sort_arrays(args, buffers));
    launch_moe_grouped(context, cuda::moe_args(args), buffers);
  } else {
    cuda::launch_decode_block(context, args, buffers);
  }
  cuda::launch_moe_combine(context, cuda::moe_args(args), buffers, true);
  return true;
}

}  // namespace deltaserve
