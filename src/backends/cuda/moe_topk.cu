// moe_topk, a warp a token (moe_choose.cuh).
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_choose.cuh"
#include "backends/cuda/moe_kernels.h"
#include "base/check.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;

template <int kSlots>
__global__ void __launch_bounds__(kWarps* kWarp) moe_topk_kernel(MoeTopkArgs args) {
  let_next_start();
  wait_for_previous();
  const int64_t t = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (t < args.T) {
    choose_experts<kSlots>(args.logits + t * args.logits_stride, args.E, args.K, args.renormalize,
                           args.expert_ids + t * args.K, args.weights + t * args.K);
  }
}

}  // namespace
}  // namespace cuda

void launch_moe_topk(CudaContext& context, const MoeTopkArgs& args) {
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(cuda::ceil_div<int64_t>(args.T, cuda::kWarps))),
      .block = dim3(cuda::kWarps * cuda::kWarp)};
  DS_CHECK(args.E <= cuda::kMoeMostExperts);
  cuda::with_slots(args.E, [&](auto slots) {
    cuda::launch_early(context, cuda::moe_topk_kernel<slots.value>, shape, args);
  });
}

}  // namespace deltaserve
