// add_rms_norm: one block a row. A row's sum of squares is added in the same order whatever else is
// in the batch; the second pass reads the row from the first level cache.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kVector = 4;

// Rows whose width is a multiple of kVector begin on 16-byte borders.
template <typename X, bool Vectors>
__global__ void __launch_bounds__(kThreads)
    add_rms_norm_rows(float* residual, const float* delta, const float* weight, X* out, int64_t H,
                      float eps) {
  constexpr int N = Vectors ? kVector : 1;
  __shared__ float partial[kWarp];
  const int64_t row = blockIdx.x * H;
  float sum = 0.0F;
  for (int64_t i = int64_t{threadIdx.x} * N; i < H; i += kThreads * N) {
    if constexpr (Vectors) {
      float values[N];
      load(residual + row + i, values);
      if (delta != nullptr) {
        float added[N];
        load(delta + row + i, added);
#pragma unroll
        for (int j = 0; j < N; ++j) {
          values[j] += added[j];
        }
        store(residual + row + i, values);
      }
#pragma unroll
      for (int j = 0; j < N; ++j) {
        sum += values[j] * values[j];
      }
    } else {
      float value = residual[row + i];
      if (delta != nullptr) {
        value += delta[row + i];
        residual[row + i] = value;
      }
      sum += value * value;
    }
  }
  const float scale = 1.0F / sqrtf(block_sum(sum, partial) / static_cast<float>(H) + eps);
  for (int64_t i = int64_t{threadIdx.x} * N; i < H; i += kThreads * N) {
    if constexpr (Vectors) {
      float values[N];
      float factors[N];
      load(residual + row + i, values);
      load(weight + i, factors);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        values[j] *= scale * (1.0F + factors[j]);
      }
      store(out + row + i, values);
    } else {
      out[row + i] = from_float<X>(residual[row + i] * scale * (1.0F + weight[i]));
    }
  }
}

}  // namespace
}  // namespace cuda

void launch_add_rms_norm(CudaContext& context, const AddRmsNormArgs& args) {
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    auto* kernel = args.H % cuda::kVector == 0 ? cuda::add_rms_norm_rows<X, true>
                                               : cuda::add_rms_norm_rows<X, false>;
    cuda::launch(context, kernel,
                 {.grid = dim3(static_cast<unsigned>(args.T)), .block = dim3(cuda::kThreads)},
                 args.residual, args.delta, args.weight, static_cast<X*>(args.out), args.H,
                 args.eps);
  });
}

}  // namespace deltaserve
