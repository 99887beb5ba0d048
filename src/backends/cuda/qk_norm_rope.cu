// qk_norm_rope: RMS norm over each q and k head and partial M-RoPE, float32 inside and rounded
// once; and the same with write_kv, where k goes to the paged cache at once and v with it. A block
// serves 8 heads of one token, a warp each, 8 dimensions a lane; it computes the token's cosines
// and sines once. The normed head passes through shared memory because rotate-half pairs dimensions
// that different lanes hold.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/head_rope.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kHeadsPerBlock = 8;

// Where k and v go.
enum class Target { kInPlace, kRows, kSwizzled };  // rows and swizzled: of the cache

// Heads in turn: q, k and, with a cache, v.
template <typename X, Target kTarget>
__global__ void __launch_bounds__(kHeadsPerBlock* kWarp)
    qk_norm_rope_kernel(QkNormRopeArgs args, WriteKvArgs writing, BatchView batch) {
  __shared__ Rotation rotation;
  __shared__ float rows[kHeadsPerBlock][kMaxHeadDim];
  let_next_start();  // decode attention asks for the cache of earlier steps
  constexpr bool kWrites = kTarget != Target::kInPlace;
  constexpr bool kSwizzled = kTarget == Target::kSwizzled;
  const int64_t t = blockIdx.x;
  for (int j = static_cast<int>(threadIdx.x); j < args.rotary_dim / 2;
       j += static_cast<int>(blockDim.x)) {
    const int64_t axis = args.mrope_axis[j];
    const auto position = static_cast<float>(batch.positions[axis * batch.num_tokens + t]);
    set_rotation(rotation, j, position * args.inv_freq[j], args.attention_factor);
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = static_cast<int>(threadIdx.x) % kWarp * kDims;
  const bool active = first < args.head_dim;
  const int head = static_cast<int>(blockIdx.y) * kHeadsPerBlock + warp;
  const int k_head = head - args.num_heads;
  const int v_head = k_head - args.num_kv_heads;
  const int64_t slot = kWrites ? batch.slot_mapping[t] : 0;
  float factors[1][kDims] = {};
  if (active && v_head < 0) {
    load((k_head < 0 ? args.q_weight : args.k_weight) + first, factors[0]);
  }
  __syncthreads();
  wait_for_previous();
  if (v_head >= 0) {
    if (kWrites && active && v_head < args.num_kv_heads) {
      constexpr int kWords = static_cast<int>(kDims * sizeof(X) / sizeof(uint4));
      const auto* from =
          reinterpret_cast<const uint4*>(static_cast<const X*>(writing.v) + t * writing.kv_stride +
                                         int64_t{v_head} * args.head_dim + first);
      auto* to = reinterpret_cast<uint4*>(cache_place<X, kSwizzled>(writing, slot, true, v_head));
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        to[i] = from[i];
      }
    }
    return;
  }
  X* const in_place =
      first + (k_head < 0
                   ? static_cast<X*>(args.q) + t * args.q_stride + head * args.q_head_stride
                   : static_cast<X*>(args.k) + t * args.k_stride + int64_t{k_head} * args.head_dim);
  float x[1][kDims] = {};
  if (active) {
    load(in_place, x[0]);
  }
  norm_and_rotate<false>(x, factors, active, args.head_dim, args.rotary_dim / 2, args.eps, rotation,
                         rows[warp]);
  if (active) {
    store(
        kWrites && k_head >= 0 ? cache_place<X, kSwizzled>(writing, slot, false, k_head) : in_place,
        x[0]);
  }
}

template <typename X, Target kTarget>
void launch_heads(CudaContext& context, const QkNormRopeArgs& args, const WriteKvArgs& writing) {
  const int32_t heads = args.num_heads + args.num_kv_heads * (kTarget == Target::kInPlace ? 1 : 2);
  launch_early(context, qk_norm_rope_kernel<X, kTarget>,
               {.grid = dim3(static_cast<unsigned>(args.batch->num_tokens),
                             static_cast<unsigned>(ceil_div(heads, kHeadsPerBlock))),
                .block = dim3(kHeadsPerBlock * kWarp)},
               args, writing, *args.batch);
}

}  // namespace
}  // namespace cuda

void launch_qk_norm_rope(CudaContext& context, const QkNormRopeArgs& args) {
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch_heads<X, cuda::Target::kInPlace>(context, args, {});
  });
}

void launch_qk_norm_rope_write_kv(CudaContext& context, const QkNormRopeArgs& args,
                                  const WriteKvArgs& writing) {
  if (context.compute_dtype == DType::kF32) {
    cuda::launch_heads<float, cuda::Target::kRows>(context, args, writing);
  } else if (args.head_dim == cuda::kTensorHeadDim) {
    cuda::launch_heads<cuda::bf16, cuda::Target::kSwizzled>(context, args, writing);
  } else {
    cuda::launch_heads<cuda::bf16, cuda::Target::kRows>(context, args, writing);
  }
}

}  // namespace deltaserve
