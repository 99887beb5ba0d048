// write_kv: rows of k and v into the paged cache (kv_layout.h). A thread moves one piece of 8
// dimensions; bytes are read and written once.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <typename X, bool kSwizzled>
__global__ void __launch_bounds__(kThreads) write_kv_kernel(WriteKvArgs args, BatchView batch) {
  const int64_t pieces = args.head_dim / kKvPiece;
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t row = index / pieces;  // (token, head, k or v)
  if (row >= int64_t{batch.num_tokens} * args.num_kv_heads * 2) {
    return;
  }
  const int64_t piece = index % pieces;
  const bool value = row % 2 != 0;
  const int64_t head = row / 2 % args.num_kv_heads;
  const int64_t t = row / 2 / args.num_kv_heads;
  const int64_t slot = batch.slot_mapping[t];
  wait_for_previous();
  const auto* from = static_cast<const X*>(value ? args.v : args.k) + t * args.kv_stride +
                     head * args.head_dim + piece * kKvPiece;
  auto* to = static_cast<X*>(args.kv_cache) +
             kv_base(slot / kBlockSize, value, head, args.num_kv_heads, args.head_dim) +
             kv_piece<kSwizzled>(slot % kBlockSize, piece, args.head_dim);
  constexpr int kWords = static_cast<int>(kKvPiece * sizeof(X) / sizeof(uint4));
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  }
}

}  // namespace
}  // namespace cuda

void launch_write_kv(CudaContext& context, const WriteKvArgs& args) {
  const int64_t threads =
      int64_t{args.batch->num_tokens} * args.num_kv_heads * 2 * (args.head_dim / cuda::kKvPiece);
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(cuda::ceil_div<int64_t>(threads, cuda::kThreads))),
      .block = dim3(cuda::kThreads)};
  if (context.compute_dtype == DType::kF32) {
    cuda::launch_early(context, cuda::write_kv_kernel<float, false>, shape, args, *args.batch);
  } else if (args.head_dim == cuda::kTensorHeadDim) {
    cuda::launch_early(context, cuda::write_kv_kernel<cuda::bf16, true>, shape, args, *args.batch);
  } else {
    cuda::launch_early(context, cuda::write_kv_kernel<cuda::bf16, false>, shape, args, *args.batch);
  }
}

}  // namespace deltaserve
