// qk_norm_rope: RMS norm over each q and k head and partial M-RoPE, in place, float32 inside and
// rounded once. A block serves 8 heads of one token, a warp each; the block computes the token's
// cosines and sines once. The normed head passes through shared memory because rotate-half pairs
// dimensions that different lanes hold.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kHeadsPerBlock = 8;
constexpr int kMaxHeadDim = 256;

// Two consecutive values.
__device__ __forceinline__ float2 load_pair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
__device__ __forceinline__ float2 load_pair(const bf16* from) {
  return unpack_bf16(*reinterpret_cast<const uint32_t*>(from));
}
__device__ __forceinline__ void store_pair(float* to, float low, float high) {
  *reinterpret_cast<float2*>(to) = make_float2(low, high);
}
__device__ __forceinline__ void store_pair(bf16* to, float low, float high) {
  *reinterpret_cast<uint32_t*>(to) = pack_bf16(low, high);
}

// `row` [head_dim] is this warp's scratch.
template <typename X>
__device__ void norm_and_rotate(X* head, int head_dim, const float* weight, float eps, int half,
                                const float* cosine, const float* sine, float* row) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float sum = 0.0F;
  for (int d = 2 * lane; d < head_dim; d += 2 * kWarp) {
    const float2 x = load_pair(head + d);
    row[d] = x.x;
    row[d + 1] = x.y;
    sum += x.x * x.x + x.y * x.y;
  }
  const float scale = rsqrtf(warp_sum(sum) / static_cast<float>(head_dim) + eps);
  for (int d = 2 * lane; d < head_dim; d += 2 * kWarp) {
    row[d] *= scale * (1.0F + weight[d]);
    row[d + 1] *= scale * (1.0F + weight[d + 1]);
  }
  __syncwarp();
  const auto rotated = [&](int d) {
    if (d >= 2 * half) {
      return row[d];
    }
    return d < half ? row[d] * cosine[d] - row[d + half] * sine[d]
                    : row[d] * cosine[d - half] + row[d - half] * sine[d - half];
  };
  for (int d = 2 * lane; d < head_dim; d += 2 * kWarp) {
    store_pair(head + d, rotated(d), rotated(d + 1));
  }
}

template <typename X>
__global__ void __launch_bounds__(kHeadsPerBlock* kWarp)
    qk_norm_rope_kernel(QkNormRopeArgs args, BatchView batch) {
  __shared__ float cosine[kMaxHeadDim / 2];
  __shared__ float sine[kMaxHeadDim / 2];
  __shared__ float rows[kHeadsPerBlock][kMaxHeadDim];
  const int64_t t = blockIdx.x;
  const int half = args.rotary_dim / 2;
  for (int j = static_cast<int>(threadIdx.x); j < half; j += static_cast<int>(blockDim.x)) {
    const int64_t axis = args.mrope_axis[j];
    const auto position = static_cast<float>(batch.positions[axis * batch.num_tokens + t]);
    float s;
    float c;
    sincosf(position * args.inv_freq[j], &s, &c);
    cosine[j] = c * args.attention_factor;
    sine[j] = s * args.attention_factor;
  }
  wait_for_previous();
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int head = static_cast<int>(blockIdx.y) * kHeadsPerBlock + warp;
  if (head < args.num_heads) {
    X* q = static_cast<X*>(args.q) + t * args.q_stride + head * args.q_head_stride;
    norm_and_rotate(q, args.head_dim, args.q_weight, args.eps, half, cosine, sine, rows[warp]);
  } else if (head < args.num_heads + args.num_kv_heads) {
    X* k = static_cast<X*>(args.k) + t * args.k_stride +
           int64_t{head - args.num_heads} * args.head_dim;
    norm_and_rotate(k, args.head_dim, args.k_weight, args.eps, half, cosine, sine, rows[warp]);
  }
}

}  // namespace
}  // namespace cuda

void launch_qk_norm_rope(CudaContext& context, const QkNormRopeArgs& args) {
  const int32_t heads = args.num_heads + args.num_kv_heads;
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(args.batch->num_tokens),
                   static_cast<unsigned>(cuda::ceil_div(heads, cuda::kHeadsPerBlock))),
      .block = dim3(cuda::kHeadsPerBlock * cuda::kWarp)};
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch_early(context, cuda::qk_norm_rope_kernel<X>, shape, args, *args.batch);
  });
}

}  // namespace deltaserve
