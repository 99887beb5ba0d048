// moe: which form runs, and the sum over a token's experts.
// Few tokens: each active expert's matrices stream once past its tokens (moe_decode.cu, and
// moe_few.cu for a handful). Many:
// entries are sorted by expert and multiplied in tiles (moe_sort.cu, moe_grouped.cu). Otherwise (in
// float32, for sizes that are no multiple of 64, many tokens on a device other than Hopper) plain
// dot products (moe_plain.cu).
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 4;  // of a thread

// out[t] = sum over k of weights[t][k] * down[t][k], then the gated shared expert.
__global__ void __launch_bounds__(kThreads)
    moe_combine_kernel(MoeArgs args, int64_t H, const float* __restrict__ down) {
  const int64_t t = blockIdx.x;
  const int64_t h = (int64_t{blockIdx.y} * kThreads + threadIdx.x) * kColumns;
  if (h >= H) {
    return;
  }
  float sum[kColumns] = {};
  for (int64_t k = 0; k < args.K; ++k) {
    const int64_t entry = t * args.K + k;
    const float weight = args.weights[entry];
    float row[kColumns];
    load(down + entry * H + h, row);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      sum[i] = __fmaf_rn(weight, row[i], sum[i]);
    }
  }
  const float shared_weight = sigmoid(args.shared_gate[t * args.shared_gate_stride]);
  float shared[kColumns];
  load(args.shared + t * H + h, shared);
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    sum[i] = __fmaf_rn(shared_weight, shared[i], sum[i]);
  }
  store(args.out + t * H + h, sum);
}

int64_t align(int64_t bytes) {
  return ceil_div<int64_t>(bytes, 256) * 256;
}

// The scratch of the largest step.
MoeBuffers buffers_of(CudaContext& context, const MoeArgs& args, const CudaExperts& experts) {
  const int64_t entries = std::max(args.T, context.limits.max_tokens) * args.K;
  const int64_t act_bytes = align(entries * experts.I * dtype_size(context.compute_dtype));
  const int64_t down_bytes = align(entries * experts.H * dtype_size(DType::kF32));
  const int64_t sort_bytes = moe_sort_size(entries, experts.E) * static_cast<int64_t>(sizeof(int));
  auto* memory =
      context.scratch<std::byte>(static_cast<size_t>(act_bytes + down_bytes + sort_bytes));
  return {.act = memory,
          .down = reinterpret_cast<float*>(memory + act_bytes),
          .sort = reinterpret_cast<int32_t*>(memory + act_bytes + down_bytes)};
}

}  // namespace
}  // namespace cuda

void launch_moe(CudaContext& context, const MoeArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const cuda::MoeBuffers buffers = cuda::buffers_of(context, args, experts);
  // Multiples of 64: whole 128-byte pieces of a row, and whole groups of gate and up.
  const bool tensor_cores =
      context.compute_dtype == DType::kBF16 && experts.H % 64 == 0 && experts.I % 64 == 0;
  if (tensor_cores && args.T <= cuda::kMoeFewTokens && args.T * args.K <= cuda::kMoeFewEntries) {
    cuda::launch_moe_few(context, args, buffers);
    return;
  }
  if (tensor_cores && args.T <= cuda::kMoeDecodeTokens) {
    cuda::launch_moe_decode(context, args, buffers);
  } else if (tensor_cores && context.device.arch == cuda::kMoeGroupedArch) {
    cuda::launch_moe_grouped(context, args, buffers);
  } else {
    cuda::launch_moe_plain(context, args, buffers);
  }
  const auto blocks = cuda::ceil_div<int64_t>(experts.H, cuda::kThreads * cuda::kColumns);
  cuda::launch(context, cuda::moe_combine_kernel,
               {.grid = dim3(static_cast<unsigned>(args.T), static_cast<unsigned>(blocks)),
                .block = dim3(cuda::kThreads)},
               args, experts.H, buffers.down);
}

}  // namespace deltaserve
