// gated_rms_norm: a block takes some heads of a token; a warp norms heads of up to 256 numbers, 4 a
// lane (8 above 128), several at a time so that enough loads are on the way. Bound by bytes: x and
// z in, out out; where a head lies follows from the block without a division.
#include <type_traits>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/gated_rms_norm.cuh"
#include "backends/cuda/launch.h"
#include "base/check.h"

namespace deltaserve {
namespace {

using namespace cuda;

constexpr int kWarps = 4;  // of a block
constexpr int kHeads = 4;  // of a warp: 2 KiB of x and z on the way in bfloat16
constexpr int kBlockHeads = kWarps * kHeads;

template <typename X>
struct Norm {
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

// grid (T, heads / kBlockHeads up). The heads of a block go to its warps in turn.
template <typename X, int N>
__global__ void __launch_bounds__(kWarps* kWarp) gated_rms_norm(const Norm<X> norm) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int first =
      static_cast<int>(blockIdx.y) * kBlockHeads + static_cast<int>(threadIdx.x) / kWarp;
  const X* const x_row = norm.x + blockIdx.x * norm.x_stride;
  const X* const z_row = norm.z + blockIdx.x * norm.z_stride;
  X* const out_row = norm.out + blockIdx.x * norm.out_stride;
  float x[kHeads][N];
  float z[kHeads][N];
  float weight[N];
  load_lane<N>(norm.weight, lane, norm.head_dim, weight);
  wait_for_previous();
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    const int head = first + i * kWarps;
    const int head_dim = head < norm.num_heads ? norm.head_dim : 0;
    load_lane<N>(x_row + head * norm.head_dim, lane, head_dim, x[i]);
    load_lane<N>(z_row + head * norm.head_dim, lane, head_dim, z[i]);
  }
#pragma unroll
  for (int i = 0; i < kHeads; ++i) {
    const int head = first + i * kWarps;
    norm_head<X, N>(x[i], z[i], weight, norm.head_dim, norm.eps);
    if (head >= norm.num_heads) {
      return;
    }
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      if (lane * 4 + j * kWarp < norm.head_dim) {
        store<4>(out_row + head * norm.head_dim + lane * 4 + j * kWarp,
                 {x[i][j], x[i][j + 1], x[i][j + 2], x[i][j + 3]});
      }
    }
  }
}

template <typename X, int N>
void launch_for(const CudaContext& context, const GatedRmsNormArgs& args) {
  const dim3 grid(static_cast<unsigned>(args.T),
                  static_cast<unsigned>(ceil_div(args.num_heads, kBlockHeads)));
  launch_early(context, gated_rms_norm<X, N>, {.grid = grid, .block = kWarps * kWarp},
               Norm<X>{.num_heads = args.num_heads,
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
