// linear_bias: slices of the product in float32, then bias and activation, rounded once.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/sliced_product.h"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;

__device__ float activate(Activation activation, float x) {
  constexpr float kSqrtTwoOverPi = 0.797884560802865F;
  constexpr float kSqrtHalf = 0.707106781186548F;
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGeluTanh:
      return 0.5F * x * (1.0F + tanhf(kSqrtTwoOverPi * (x + 0.044715F * x * x * x)));
    case Activation::kGeluErf:
      return 0.5F * x * erfcf(-x * kSqrtHalf);
  }
  return x;
}

// product [M, columns] to out [M, ...] at the slice's first column; bias begins there too.
template <typename Out>
__global__ void __launch_bounds__(kThreads)
    bias_activation(Out* out, const float* product, const float* bias, int64_t M, int64_t columns,
                    int64_t out_stride, Activation activation) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < M * columns) {
    const int64_t n = i % columns;
    out[i / columns * out_stride + n] = from_float<Out>(activate(activation, product[i] + bias[n]));
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
    const auto blocks = static_cast<unsigned>(ceil_div(linear.M * columns, int64_t{kThreads}));
    launch(context, bias_activation<Out>, {.grid = dim3(blocks), .block = dim3(kThreads)},
           static_cast<Out*>(linear.out) + first, slice, args.bias + first, linear.M, columns,
           linear.out_stride, args.activation);
  });
}

}  // namespace
}  // namespace cuda

void launch_linear_bias(CudaContext& context, const LinearBiasArgs& args) {
  if (args.linear.out_float || context.compute_dtype == DType::kF32) {
    cuda::run<float>(context, args);
  } else {
    cuda::run<cuda::bf16>(context, args);
  }
}

}  // namespace deltaserve
