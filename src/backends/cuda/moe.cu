// moe: which form runs, and the buffers of all of them.
// A decode step: each active expert's matrices stream once past its tokens (moe_decode.cu). Many
// tokens: entries are sorted by expert and multiplied in tiles (moe_grouped.cu). Otherwise (in
// float32, for sizes that are no multiple of 64, many tokens on a device other than Hopper) plain
// dot products (moe_plain.cu).
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve {
namespace cuda {
namespace {

// Multiples of 64: whole 128-byte pieces of a row, and whole groups of gate and up.
bool fits_tensor_cores(const CudaContext& context, const CudaExperts& experts) {
  return context.compute_dtype == DType::kBF16 && experts.H % 64 == 0 && experts.I % 64 == 0;
}

int64_t align(int64_t bytes) {
  return ceil_div<int64_t>(bytes, 256) * 256;
}

}  // namespace

bool moe_has_tensor_form(const CudaContext& context, const CudaExperts& experts, int64_t T) {
  return fits_tensor_cores(context, experts) && experts.E <= kMoeMostExperts &&
         (T <= kMoeDecodeTokens || context.device.arch == kMoeGroupedArch);
}

// The scratch of the largest step.
MoeBuffers moe_buffers(CudaContext& context, int64_t T, int64_t K, const CudaExperts& experts) {
  const int64_t entries = std::max(T, context.limits.max_tokens) * K;
  const bool grouped =
      fits_tensor_cores(context, experts) && context.device.arch == kMoeGroupedArch;
  const int64_t float_entries = grouped ? std::min(entries, kMoeDecodeTokens * K) : entries;
  const int64_t half_entries = grouped ? entries : 0;
  const int64_t act_bytes = align(entries * experts.I * dtype_size(context.compute_dtype));
  const int64_t down_bytes = align(std::max(float_entries * experts.H * dtype_size(DType::kF32),
                                            half_entries * experts.H * int64_t{sizeof(__half)}));
  const int64_t exponent_bytes = align(half_entries * down_exponents(experts.H));
  const int64_t sort_bytes = moe_sort_size(entries / K, K, experts.E) * int64_t{sizeof(int32_t)};
  auto* memory = context.scratch<std::byte>(
      static_cast<size_t>(act_bytes + down_bytes + exponent_bytes + sort_bytes));
  std::byte* const down = memory + act_bytes;
  return {
      .act = memory,
      .down = reinterpret_cast<float*>(down),
      .down_halves = reinterpret_cast<__half*>(down),
      .down_exponents = reinterpret_cast<uint8_t*>(down + down_bytes),
      .sort = reinterpret_cast<int32_t*>(down + down_bytes + exponent_bytes),
  };
}

}  // namespace cuda

void launch_moe(CudaContext& context, const MoeArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const cuda::MoeBuffers buffers = cuda::moe_buffers(context, args.T, args.K, experts);
  if (!cuda::moe_has_tensor_form(context, experts, args.T)) {
    cuda::launch_moe_plain(context, args, buffers);
  } else {
    cuda::launch_moe_sort(context, args,
                          cuda::moe_sort_arrays(buffers.sort, args.T, args.K, experts.E));
    if (args.T <= cuda::kMoeDecodeTokens) {
      cuda::launch_moe_decode(context, args, buffers, {});
    } else {
      cuda::launch_moe_grouped(context, args, buffers);
    }
  }
  cuda::launch_moe_combine(context, args, buffers, false);
}

}  // namespace deltaserve
