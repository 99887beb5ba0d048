// linear_bias: on the sums of fixed_product.cu where that serves, else slices of the product in
// float32, then bias and activation, rounded once.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/sliced_product.h"
#include "backends/cuda/vision_activation.cuh"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kVector = 4;  // outputs of a thread where rows lie on such borders

// product [M, columns] to out [M, ...] at the slice's first column; bias begins there too. grid (M,
// columns / (kThreads * N) up).
template <typename Out, int N>
__global__ void __launch_bounds__(kThreads)
    bias_activation(Out* out, const float* product, const float* bias, int64_t columns,
                    int64_t out_stride, Activation activation) {
  const int64_t n = (int64_t{blockIdx.y} * kThreads + threadIdx.x) * N;
  if (n >= columns) {
    return;
  }
  const float* const from = product + blockIdx.x * columns + n;
  Out* const to = out + blockIdx.x * out_stride + n;
  if constexpr (N == 1) {
    *to = from_float<Out>(activate(activation, *from + bias[n]));
  } else {
    float values[N];
    float added[N];
    load(from, values);
    load(bias + n, added);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      values[i] = activate(activation, values[i] + added[i]);
    }
    store(to, values);
  }
}

template <typename Out>
void run(CudaContext& context, const LinearBiasArgs& args) {
  const LinearArgs& linear = args.linear;
  const auto& weight = static_cast<const CudaLinear&>(*linear.weight);
  const MatmulArgs product = {.M = linear.M,
                              .N = weight.N,
                              .K = weight.K,
                              .x = linear.x,
                              .x_stride = linear.x_stride,
                              .weight = weight.values.data()};
  sliced_product(context, product, [&](int64_t first, int64_t columns, float* slice) {
    Out* const out = static_cast<Out*>(linear.out) + first;
    const float* const bias = args.bias + first;
    const bool vectors = columns % kVector == 0 && linear.out_stride % kVector == 0 &&
                         reinterpret_cast<uintptr_t>(out) % (kVector * sizeof(Out)) == 0 &&
                         reinterpret_cast<uintptr_t>(bias) % (kVector * sizeof(float)) == 0;
    const int64_t threads = vectors ? columns / kVector : columns;
    launch(context, vectors ? bias_activation<Out, kVector> : bias_activation<Out, 1>,
           {.grid = dim3(static_cast<unsigned>(linear.M),
                         static_cast<unsigned>(ceil_div(threads, int64_t{kThreads}))),
            .block = dim3(kThreads)},
           out, slice, bias, columns, linear.out_stride, args.activation);
  });
}

}  // namespace
}  // namespace cuda

void launch_linear_bias(CudaContext& context, const LinearBiasArgs& args) {
  if (serves_fixed(context, args.linear.weight->K, args.linear.x, args.linear.x_stride)) {
    launch_fixed_bias(context, args);
  } else if (args.linear.out_float || context.compute_dtype == DType::kF32) {
    cuda::run<float>(context, args);
  } else {
    cuda::run<cuda::bf16>(context, args);
  }
}

}  // namespace deltaserve
