// The sum over a token's experts, in ascending id and float32, and the gated shared expert.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 4;  // of a thread, loaded and stored at once

// out[h ..] = or += sum + the gated shared expert.
__device__ __forceinline__ void finish(const MoeArgs& args, int64_t t, int64_t H, int64_t h,
                                       bool add, float (&sum)[kColumns]) {
  const float gate = sigmoid(args.shared_gate[t * args.shared_gate_stride]);
  float shared[kColumns];
  load(args.shared + t * H + h, shared);
  float before[kColumns] = {};
  if (add) {
    load(args.out + t * H + h, before);
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    sum[i] = __fmaf_rn(gate, shared[i], sum[i]);
    sum[i] = add ? before[i] + sum[i] : sum[i];
  }
  store(args.out + t * H + h, sum);
}

__global__ void __launch_bounds__(kThreads)
    moe_combine_kernel(MoeArgs args, int64_t H, const float* __restrict__ down, bool add) {
  let_next_start();
  wait_for_previous();
  const int64_t t = blockIdx.x;
  const int64_t h = (int64_t{blockIdx.y} * kThreads + threadIdx.x) * kColumns;
  if (h >= H) {
    return;
  }
  float sum[kColumns] = {};
#pragma unroll 4
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
  finish(args, t, H, h, add, sum);
}

// The same of the grouped form's rows. A thread reads eight values: columns h .. h + 3 and the four
// eight further, in turn.
constexpr int kAtOnce = 8;  // entries whose loads are under way together
__global__ void __launch_bounds__(kThreads)
    moe_combine_halves_kernel(MoeArgs args, int64_t H, const __half* __restrict__ down,
                              const uint8_t* __restrict__ exponents, bool add) {
  const int64_t t = blockIdx.x;
  const int64_t piece = int64_t{blockIdx.y} * kThreads + threadIdx.x;
  const int64_t h = piece / 2 * 16 + piece % 2 * 4;
  if (h >= H) {
    return;
  }
  float low[kColumns] = {};
  float high[kColumns] = {};
  for (int64_t first = 0; first < args.K; first += kAtOnce) {
    uint4 values[kAtOnce];
    float weights[kAtOnce];
    uint32_t scales[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i < args.K) {
        const int64_t entry = t * args.K + first + i;
        values[i] = *reinterpret_cast<const uint4*>(down + entry * H + piece * 8);
        scales[i] = exponents[entry * down_exponents(H) + down_exponent_of(h)];
        weights[i] = args.weights[entry];
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i < args.K) {
        const float scale = down_unscale(scales[i]);
        const uint32_t words[kColumns] = {values[i].x, values[i].y, values[i].z, values[i].w};
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&words[j]));
          low[j] = __fmaf_rn(weights[i], pair.x * scale, low[j]);
          high[j] = __fmaf_rn(weights[i], pair.y * scale, high[j]);
        }
      }
    }
  }
  finish(args, t, H, h, add, low);
  finish(args, t, H, h + 8, add, high);
}

}  // namespace

void launch_moe_combine(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                        bool add) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const auto shape = [&](int64_t columns) {
    const auto blocks = static_cast<unsigned>(ceil_div<int64_t>(experts.H, kThreads * columns));
    return LaunchShape{.grid = dim3(static_cast<unsigned>(args.T), blocks),
                       .block = dim3(kThreads)};
  };
  if (moe_takes_grouped(context, experts, args.T)) {
    launch(context, moe_combine_halves_kernel, shape(2 * kColumns), args, experts.H,
           static_cast<const __half*>(buffers.down_halves),
           static_cast<const uint8_t*>(buffers.down_exponents), add);
  } else {
    launch_early(context, moe_combine_kernel, shape(kColumns), args, experts.H,
                 static_cast<const float*>(buffers.down), add);
  }
}

}  // namespace deltaserve::cuda
