// attention without tensor cores: a warp a row and head walks the keys in order with a running
// softmax, in float32. Lane l holds dimensions 8 l .. 8 l + 7. It serves float32 compute, whose aim
// is to be right, and head sizes that the other kernels do not.
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kDims = static_cast<int>(kKvPiece);  // a lane's

// The sequence that row t belongs to.
__device__ int sequence_of(const BatchView& batch, int t) {
  int low = 0;
  int high = batch.num_seqs - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (batch.cu_seqlens[middle] <= t) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <typename X, bool kSwizzled>
__global__ void __launch_bounds__(kWarps* kWarp)
    attention_plain_kernel(AttentionArgs args, BatchView batch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t head = blockIdx.y * kWarps + threadIdx.x / kWarp;
  if (head >= args.num_heads) {
    return;
  }
  const int t = static_cast<int>(blockIdx.x);
  const int64_t kv_head = head / (args.num_heads / args.num_kv_heads);
  const int sequence = sequence_of(batch, t);
  const int position = batch.context_lens[sequence] + t - batch.cu_seqlens[sequence];
  const int32_t* blocks = batch.block_tables + int64_t{sequence} * batch.max_blocks_per_seq;
  const bool holds = lane * kDims < args.head_dim;
  const int64_t first = t * args.q_stride + head * args.q_head_stride + lane * kDims;
  float q[kDims] = {};
  if (holds) {
    load(static_cast<const X*>(args.q) + first, q);
  }
  float largest = -INFINITY;
  float total = 0.0F;
  float sum[kDims] = {};
  for (int j = 0; j <= position; ++j) {
    const int64_t block = blocks[j / kBlockSize];
    const int64_t place = kv_piece<kSwizzled>(j % kBlockSize, lane, args.head_dim);
    const auto* cache = static_cast<const X*>(args.kv_cache) + place;
    float k[kDims] = {};
    float v[kDims] = {};
    if (holds) {
      load(cache + kv_base(block, false, kv_head, args.num_kv_heads, args.head_dim), k);
      load(cache + kv_base(block, true, kv_head, args.num_kv_heads, args.head_dim), v);
    }
    float dot = 0.0F;
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      dot += q[d] * k[d];
    }
    const float score = warp_sum(dot) * args.scale;
    const float now = fmaxf(largest, score);
    const float keep = expf(largest - now);
    const float weight = expf(score - now);
    largest = now;
    total = total * keep + weight;
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      sum[d] = sum[d] * keep + weight * v[d];
    }
  }
  if (holds) {
    float gate[kDims];
    load(static_cast<const X*>(args.gate) + first, gate);
#pragma unroll
    for (int d = 0; d < kDims; ++d) {
      sum[d] = sum[d] / total * sigmoid(gate[d]);
    }
    store(static_cast<X*>(args.out) + t * args.out_stride + head * args.head_dim + lane * kDims,
          sum);
  }
}

}  // namespace

void launch_attention_plain(CudaContext& context, const AttentionArgs& args) {
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(args.batch->num_tokens),
                                       static_cast<unsigned>(ceil_div(args.num_heads, kWarps))),
                          .block = dim3(kWarps * kWarp)};
  if (context.compute_dtype == DType::kF32) {
    launch(context, attention_plain_kernel<float, false>, shape, args, *args.batch);
  } else if (args.head_dim == kTensorHeadDim) {
    launch(context, attention_plain_kernel<bf16, true>, shape, args, *args.batch);
  } else {
    launch(context, attention_plain_kernel<bf16, false>, shape, args, *args.batch);
  }
}

}  // namespace deltaserve::cuda
