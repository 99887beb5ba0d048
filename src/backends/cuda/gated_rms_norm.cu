// gated_rms_norm: a warp norms heads of up to 256 numbers, 4 a lane (8 above 128), several heads at
// a time so that enough loads are on the way. Bound by bytes: x and z in, out out.
#include <type_traits>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "base/check.h"

namespace deltaserve {
namespace {

using namespace cuda;

constexpr int kWarps = 4;  // of a block
constexpr int kHeads = 4;  // of a warp: 2 KiB of x and z on the way in bfloat16

template <typename X>
struct Norm {
  int64_t count;  // T * heads
  int32_t num_heads;
  int32_t head_dim;
  const X* x;  // [T, heads, head_dim]
  int64_t x_stride;
  const X* z;  // [T, heads, head_dim]
  int64_t z_stride;
  const float* weight;  // [head_dim]
  float eps;
  X* out;  // [T, heads * head_dim]
  int64_t out_stride;
};

// A lane's numbers of a head: 4 lane .. 4 lane + 3, and 128 further if there are N = 8; zero
// beyond.
template <int N, typename T>
__device__ __forceinline__ void load_lane(const T* head, int lane, int head_dim, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    float part[4] = {};
    if (lane * 4 + i * kWarp < head_dim) {
      load<4>(head + lane * 4 + i * kWarp, part);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to[i + j] = part[j];
    }
  }
}

template <typename X, int N>
__global__ void __launch_bounds__(kWarps* kWarp) gated_rms_norm(const Norm<X> norm) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const int64_t first = warp * kHeads;
  float x[kHeads][N];
  float z[kHeads][N];
  float weight[N];
  load_lane<N>(norm.weight, lane, norm.head_dim, weight);
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    const int64_t t = (first + i) / norm.num_heads;
    const int64_t head = (first + i) % norm.num_heads * norm.head_dim;
    const int head_dim = first + i < norm.count ? norm.head_dim : 0;
    load_lane<N>(norm.x + t * norm.x_stride + head, lane, head_dim, x[i]);
    load_lane<N>(norm.z + t * norm.z_stride + head, lane, head_dim, z[i]);
  }
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    float squares = 0.0F;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      squares += x[i][j] * x[i][j];
    }
    const float mean = warp_sum(squares) / static_cast<float>(norm.head_dim);
    const float scale = 1.0F / sqrtf(mean + norm.eps);
    if (first + i >= norm.count) {
      continue;
    }
    const int64_t t = (first + i) / norm.num_heads;
    X* out = norm.out + t * norm.out_stride + (first + i) % norm.num_heads * norm.head_dim;
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      float y[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        y[k] = weight[j + k] * (x[i][j + k] * scale) * silu(z[i][j + k]);
      }
      if (lane * 4 + j * kWarp < norm.head_dim) {
        store<4>(out + lane * 4 + j * kWarp, y);
      }
    }
  }
}

template <typename X, int N>
void launch_for(const CudaContext& context, const GatedRmsNormArgs& args) {
  const int64_t count = args.T * args.num_heads;
  const auto blocks = static_cast<unsigned>(ceil_div(count, int64_t{kWarps * kHeads}));
  launch_early(context, gated_rms_norm<X, N>, {.grid = blocks, .block = kWarps * kWarp},
               Norm<X>{.count = count,
                       .num_heads = args.num_heads,
                       .head_dim = args.head_dim,
                       .x = static_cast<const X*>(args.x),
                       .x_stride = args.x_stride,
                       .z = static_cast<const X*>(args.z),
                       .z_stride = args.z_stride,
                       .weight = args.weight,
                       .eps = args.eps,
                       .out = static_cast<X*>(args.out),
                       .out_stride = args.out_stride});
}

}  // namespace

void launch_gated_rms_norm(CudaContext& context, const GatedRmsNormArgs& args) {
  DS_CHECK(args.head_dim <= 256 && args.head_dim % 4 == 0, "heads of up to 256, in fours");
  with_x(context.compute_dtype, [&](auto* type) {
    using X = std::remove_pointer_t<decltype(type)>;
    if (args.head_dim <= 128) {
      launch_for<X, 4>(context, args);
    } else {
      launch_for<X, 8>(context, args);
    }
  });
}

}  // namespace deltaserve
