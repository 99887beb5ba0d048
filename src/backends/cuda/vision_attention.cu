// vision_attention, and its form on plain cores for float32 and odd heads: a warp takes four query
// rows of one head, 32 keys at a time; a lane makes the scores of one key and keeps every 32nd
// dimension of the outputs. Float32 inside.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kRows = 4;  // query rows of a warp: a key is read once for all of them
constexpr int kBlockRows = kWarps * kRows;
constexpr int kSlices = kMaxVisionHeadDim / kWarp;  // dimensions of a lane

// Running softmax of one query row over the keys so far.
struct Row {
  float largest = -INFINITY;
  float total = 0.0F;
  float out[kSlices] = {};
};

template <typename X>
__device__ void attend_keys(const X* v, int64_t v_stride, int count, int head_dim,
                            const float* score, Row* rows) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float weight[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float largest = fmaxf(rows[r].largest, warp_max(score[r]));
    const float shrink = expf(rows[r].largest - largest);
    weight[r] = lane < count ? expf(score[r] - largest) : 0.0F;
    rows[r].largest = largest;
    rows[r].total = rows[r].total * shrink + warp_sum(weight[r]);
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      rows[r].out[s] *= shrink;
    }
  }
  for (int j = 0; j < count; ++j) {
    float value[kSlices];
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      const int d = lane + s * kWarp;
      value[s] = d < head_dim ? to_float(v[j * v_stride + d]) : 0.0F;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float w = __shfl_sync(kAllLanes, weight[r], j);
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        rows[r].out[s] += w * value[s];
      }
    }
  }
}

template <typename X>
__global__ void __launch_bounds__(kWarps* kWarp) attend_segments(VisionAttentionArgs args) {
  __shared__ float queries[kBlockRows][kMaxVisionHeadDim];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int head_dim = args.head_dim;
  const int32_t last_query = args.cu_queries[blockIdx.z + 1];
  const int32_t first =
      args.cu_queries[blockIdx.z] + static_cast<int32_t>(blockIdx.x) * kBlockRows + warp * kRows;
  if (first >= last_query) {
    return;
  }
  const int64_t head = int64_t{blockIdx.y} * head_dim;
  float(*q)[kMaxVisionHeadDim] = queries + warp * kRows;
  for (int i = lane; i < kRows * head_dim; i += kWarp) {
    const int64_t row = min(first + i / head_dim, last_query - 1);
    q[i / head_dim][i % head_dim] =
        to_float(static_cast<const X*>(args.q)[row * args.q_stride + head + i % head_dim]);
  }
  __syncwarp();
  Row rows[kRows];
  const int32_t last_key = args.cu_keys[blockIdx.z + 1];
  for (int32_t key = args.cu_keys[blockIdx.z]; key < last_key; key += kWarp) {
    const int count = min(kWarp, last_key - key);
    const X* k = static_cast<const X*>(args.k) +
                 int64_t{min(key + lane, last_key - 1)} * args.kv_stride + head;
    float score[kRows] = {};
    for (int d = 0; d < head_dim; ++d) {
      const float value = to_float(k[d]);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        score[r] += q[r][d] * value;
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      score[r] = lane < count ? score[r] * args.scale : -INFINITY;
    }
    attend_keys(static_cast<const X*>(args.v) + key * args.kv_stride + head, args.kv_stride, count,
                head_dim, score, rows);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (first + r >= last_query) {
      return;
    }
    X* out = static_cast<X*>(args.out) + int64_t{first + r} * args.out_stride + head;
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      if (lane + s * kWarp < head_dim) {
        out[lane + s * kWarp] = from_float<X>(rows[r].out[s] / rows[r].total);
      }
    }
  }
}

}  // namespace
}  // namespace cuda

void launch_vision_attention(CudaContext& context, const VisionAttentionArgs& args) {
  if (serves_vision_wgmma(context, args)) {
    launch_vision_wgmma(context, args);
    return;
  }
  if (context.compute_dtype == DType::kBF16 && serves_vision_tiles(args)) {
    launch_vision_tiles(context, args);
    return;
  }
  const dim3 grid(static_cast<unsigned>(cuda::ceil_div(args.max_queries, cuda::kBlockRows)),
                  static_cast<unsigned>(args.num_heads), static_cast<unsigned>(args.num_segments));
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch(context, cuda::attend_segments<X>,
                 {.grid = grid, .block = dim3(cuda::kWarps * cuda::kWarp)}, args);
  });
}

}  // namespace deltaserve
