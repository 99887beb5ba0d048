// moe: which form runs, and the buffers of all of them.
// A decode step: each active expert's matrices stream once past its tokens (moe_decode.cu). Many
// tokens, and any number where a row's bits must not depend on it: entries are sorted by expert and
// multiplied in tiles (moe_grouped.cu). Otherwise (in float32, for sizes that are no multiple of
// 64, many tokens on a device other than Hopper) plain dot products (moe_plain.cu).
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/scratch_plan.h"

namespace deltaserve {
namespace cuda {
namespace {

// Multiples of 64: whole 128-byte pieces of a row, and whole groups of gate and up.
bool fits_tensor_cores(const CudaContext& context, int64_t H, int64_t I) {
  return context.compute_dtype == DType::kBF16 && H % 64 == 0 && I % 64 == 0;
}

int64_t align(int64_t bytes) {
  return ceil_div<int64_t>(bytes, 256) * 256;
}

// Bytes of the buffers of a step of T tokens with K experts each.
struct MoeSizes {
  int64_t act = 0;
  int64_t down = 0;
  int64_t exponents = 0;
  int64_t sort = 0;
  int64_t all() const { return act + down + exponents + sort; }
};

MoeSizes moe_sizes(const CudaContext& context, int64_t T, int64_t K, int64_t E, int64_t H,
                   int64_t I) {
  const int64_t entries = T * K;
  const bool grouped = fits_tensor_cores(context, H, I) && context.device.arch == kMoeGroupedArch;
  const int64_t float_entries = grouped ? std::min(entries, kMoeDecodeTokens * K) : entries;
  const int64_t half_entries = grouped ? entries : 0;
  return {.act = align(entries * I * dtype_size(context.compute_dtype)),
          .down = align(std::max(float_entries * H * dtype_size(DType::kF32),
                                 half_entries * H * int64_t{sizeof(__half)})),
          .exponents = align(half_entries * down_exponents(H)),
          .sort = moe_sort_size(T, K, E) * int64_t{sizeof(int32_t)}};
}

}  // namespace

bool moe_has_tensor_form(const CudaContext& context, const CudaExperts& experts, int64_t T) {
  const bool decode = T <= kMoeDecodeTokens && !context.batch_invariant;
  return fits_tensor_cores(context, experts.H, experts.I) && experts.E <= kMoeMostExperts &&
         (decode || context.device.arch == kMoeGroupedArch);
}

bool moe_takes_grouped(const CudaContext& context, const CudaExperts& experts, int64_t T) {
  return moe_has_tensor_form(context, experts, T) &&
         (T > kMoeDecodeTokens || context.batch_invariant);
}

// The scratch of the largest step.
MoeBuffers moe_buffers(CudaContext& context, int64_t T, int64_t K, const CudaExperts& experts) {
  const MoeSizes sizes = moe_sizes(context, std::max(T, context.limits.max_tokens), K, experts.E,
                                   experts.H, experts.I);
  auto* memory = context.scratch<std::byte>(static_cast<size_t>(sizes.all()));
  std::byte* const down = memory + sizes.act;
  return {
      .act = memory,
      .down = reinterpret_cast<float*>(down),
      .down_halves = reinterpret_cast<__half*>(down),
      .down_exponents = reinterpret_cast<uint8_t*>(down + sizes.down),
      .sort = reinterpret_cast<int32_t*>(down + sizes.down + sizes.exponents),
  };
}

}  // namespace cuda

int64_t moe_scratch_bytes(const CudaContext& context, const StepLimits& limits) {
  const ModelShape& model = limits.model;
  if (model.num_experts == 0) {
    return 0;
  }
  return cuda::moe_sizes(context, limits.max_tokens, model.experts_per_token, model.num_experts,
                         model.hidden_size, model.expert_size)
      .all();
}

void launch_moe(CudaContext& context, const MoeArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const cuda::MoeBuffers buffers = cuda::moe_buffers(context, args.T, args.K, experts);
  if (!cuda::moe_has_tensor_form(context, experts, args.T)) {
    cuda::launch_moe_plain(context, args, buffers);
  } else {
    cuda::launch_moe_sort(context, args,
                          cuda::moe_sort_arrays(buffers.sort, args.T, args.K, experts.E));
    if (cuda::moe_takes_grouped(context, experts, args.T)) {
      cuda::launch_moe_grouped(context, args, buffers);
    } else {
      cuda::launch_moe_decode(context, args, buffers, {});
    }
  }
  cuda::launch_moe_combine(context, args, buffers, false);
}

}  // namespace deltaserve
