// The vision tower's row ops: layer norm, interpolated positions and rotary embedding.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;

// One block a row. The variance is taken around the mean, in a pass of its own.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    add_layer_norm_rows(float* residual, const float* delta, const float* weight, const float* bias,
                        X* out, int64_t H, float eps) {
  __shared__ float partial[kWarp];
  float* row = residual + blockIdx.x * H;
  float sum = 0.0F;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    float value = row[i];
    if (delta != nullptr) {
      value += delta[blockIdx.x * H + i];
      row[i] = value;
    }
    sum += value;
  }
  const float mean = block_sum(sum, partial) / static_cast<float>(H);
  float squares = 0.0F;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    const float distance = row[i] - mean;
    squares += distance * distance;
  }
  const float scale = 1.0F / sqrtf(block_sum(squares, partial) / static_cast<float>(H) + eps);
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    out[blockIdx.x * H + i] = from_float<X>((row[i] - mean) * scale * weight[i] + bias[i]);
  }
}

__global__ void __launch_bounds__(kThreads)
    add_positions_rows(float* residual, const float* table, const int32_t* taps,
                       const float* weights, int64_t T, int64_t H) {
  constexpr int kTaps = 4;
  const int64_t t = blockIdx.x;
  for (int64_t i = threadIdx.x; i < H; i += kThreads) {
    float sum = 0.0F;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      sum += weights[k * T + t] * table[taps[k * T + t] * H + i];
    }
    residual[t * H + i] += sum;
  }
}

// One block a token: all pairs of all heads of q and k.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    vision_rope_rows(X* q, X* k, int64_t stride, const int32_t* rows, const int32_t* columns,
                     const float* inv_freq, int num_heads, int head_dim) {
  const int64_t t = blockIdx.x;
  const int half = head_dim / 2;
  const int quarter = head_dim / 4;
  for (int i = static_cast<int>(threadIdx.x); i < num_heads * half; i += kThreads) {
    const int j = i % half;
    const int32_t position = j < quarter ? rows[t] : columns[t];
    float sine = 0.0F;
    float cosine = 0.0F;
    sincosf(static_cast<float>(position) * inv_freq[j % quarter], &sine, &cosine);
    const int64_t first = t * stride + int64_t{i / half} * head_dim + j;
    for (X* data : {q, k}) {
      const float a = to_float(data[first]);
      const float b = to_float(data[first + half]);
      data[first] = from_float<X>(a * cosine - b * sine);
      data[first + half] = from_float<X>(b * cosine + a * sine);
    }
  }
}

LaunchShape one_block_a_row(int64_t T) {
  return {.grid = dim3(static_cast<unsigned>(T)), .block = dim3(kThreads)};
}

}  // namespace
}  // namespace cuda

void launch_add_layer_norm(CudaContext& context, const AddLayerNormArgs& args) {
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch(context, cuda::add_layer_norm_rows<X>, cuda::one_block_a_row(args.T),
                 args.residual, args.delta, args.weight, args.bias, static_cast<X*>(args.out),
                 args.H, args.eps);
  });
}

void launch_add_positions(CudaContext& context, const AddPositionsArgs& args) {
  cuda::launch(context, cuda::add_positions_rows, cuda::one_block_a_row(args.T), args.residual,
               args.table, args.taps, args.weights, args.T, args.H);
}

void launch_vision_rope(CudaContext& context, const VisionRopeArgs& args) {
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    cuda::launch(context, cuda::vision_rope_rows<X>, cuda::one_block_a_row(args.T),
                 static_cast<X*>(args.q), static_cast<X*>(args.k), args.stride, args.rows,
                 args.columns, args.inv_freq, args.num_heads, args.head_dim);
  });
}

}  // namespace deltaserve
