// moe_topk: a warp a token. Probabilities stay in registers (lane l holds experts l, l + 32, ...);
// K rounds of a warp-wide argmax mark the chosen ones, equal values and NaN going to the lower id,
// and the ranks of the marks give the ascending order.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "base/check.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;

// kSlots * 32 experts at most.
template <int kSlots>
__global__ void __launch_bounds__(kWarps* kWarp) moe_topk_kernel(MoeTopkArgs args) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t t = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (t >= args.T) {
    return;
  }
  const float* logits = args.logits + t * args.logits_stride;
  float p[kSlots];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int e = lane + kWarp * i;
    p[i] = e < args.E ? logits[e] : -INFINITY;
    largest = fmaxf(largest, p[i]);
  }
  largest = warp_max(largest);
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    p[i] = lane + kWarp * i < args.E ? expf(p[i] - largest) : 0.0F;
    sum += p[i];
  }
  sum = warp_sum(sum);
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    p[i] /= sum;
  }

  uint32_t chosen = 0;  // bit i: expert lane + 32 i
  for (int round = 0; round < args.K; ++round) {
    float best = 0.0F;
    int best_id = args.E;  // none yet
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      const int e = lane + kWarp * i;
      if (e < args.E && (chosen >> i & 1U) == 0 && (best_id == args.E || p[i] > best)) {
        best = p[i];
        best_id = e;
      }
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, best, offset);
      const int other_id = __shfl_xor_sync(kAllLanes, best_id, offset);
      const bool exists = other_id < args.E;
      const bool better =
          best_id == args.E || other > best || (!(best > other) && other_id < best_id);
      if (exists && better) {
        best = other;
        best_id = other_id;
      }
    }
    if (best_id % kWarp == lane) {
      chosen |= 1U << (best_id / kWarp);
    }
  }

  float chosen_sum = 0.0F;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    chosen_sum += (chosen >> i & 1U) != 0 ? p[i] : 0.0F;
  }
  chosen_sum = warp_sum(chosen_sum);
  int64_t at = t * args.K;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const bool mine = (chosen >> i & 1U) != 0;
    const unsigned marks = __ballot_sync(kAllLanes, mine);
    if (mine) {
      const int64_t place = at + __popc(marks & ((1U << lane) - 1U));
      args.expert_ids[place] = lane + kWarp * i;
      args.weights[place] = args.renormalize ? p[i] / chosen_sum : p[i];
    }
    at += __popc(marks);
  }
}

}  // namespace
}  // namespace cuda

void launch_moe_topk(CudaContext& context, const MoeTopkArgs& args) {
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(cuda::ceil_div<int64_t>(args.T, cuda::kWarps))),
      .block = dim3(cuda::kWarps * cuda::kWarp)};
  constexpr int32_t kLanes = cuda::kWarp;
  DS_CHECK(args.E <= 32 * kLanes);
  if (args.E <= 8 * kLanes) {
    cuda::launch(context, cuda::moe_topk_kernel<8>, shape, args);
  } else if (args.E <= 16 * kLanes) {
    cuda::launch(context, cuda::moe_topk_kernel<16>, shape, args);
  } else {
    cuda::launch(context, cuda::moe_topk_kernel<32>, shape, args);
  }
}

}  // namespace deltaserve
