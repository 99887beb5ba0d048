// gate_up_silu: which kernels serve it, and the form that serves all: slices of the product in
// float32, then silu(gate) * up, rounded once.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/row_product.h"
#include "backends/cuda/sliced_product.h"
#include "backends/cuda/wide_product.h"
#include "base/check.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kGroup = static_cast<int>(kGateUpGroup);

// `product` [M, columns] holds groups of 8 gates and 8 ups; a thread makes 8 outputs of one row.
// out [M, I] begins at the slice's first output; `width` is how many of I are left from there.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    silu_pairs(X* out, const float* product, int64_t M, int64_t columns, int64_t out_stride,
               int64_t width, bool vectors) {
  const int64_t groups = columns / (2 * kGroup);
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= M * groups) {
    return;
  }
  const int64_t m = i / groups;
  const int64_t g = i % groups;
  const float* pair = product + m * columns + g * 2 * kGroup;
  float gate[kGroup];
  float up[kGroup];
  load(pair, gate);
  load(pair + kGroup, up);
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    gate[j] = silu(gate[j]) * up[j];
  }
  X* to = out + m * out_stride + g * kGroup;
  if (vectors && (g + 1) * kGroup <= width) {
    store(to, gate);
    return;
  }
#pragma unroll
  for (int j = 0; j < kGroup; ++j) {
    if (g * kGroup + j < width) {
      to[j] = from_float<X>(gate[j]);
    }
  }
}

}  // namespace
}  // namespace cuda

namespace {

// The kernels that take no scale of x.
void launch_unscaled_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args, int64_t N) {
  DS_CHECK(args.x_scale.squares == nullptr, "linear_norm is for products that take its scale");
  if (context.compute_dtype == DType::kBF16 && serves_skinny(args.M, N, args.weight->K)) {
    launch_skinny_gate_up_silu(context, args);
  } else if (serves_wide_gate_up(context, args)) {
    launch_wide_gate_up_silu(context, args);
  } else {
    launch_sliced_gate_up_silu(context, args);
  }
}

}  // namespace

void launch_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t N = cuda::ceil_div(weight.I, kGateUpGroup) * 2 * kGateUpGroup;
  if (context.batch_invariant) {
    launch_invariant_gate_up_silu(context, args);
  } else if (serves_row(context, args.M, weight.K)) {
    launch_row_gate_up_silu(context, args);
  } else if (serves_streamed(context, args.M, N, weight.K, args.x, args.x_stride)) {
    launch_streamed_gate_up_silu(context, args);
  } else {
    launch_unscaled_gate_up_silu(context, args, N);
  }
}

void launch_sliced_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t N = cuda::ceil_div(weight.I, kGateUpGroup) * 2 * kGateUpGroup;
  const MatmulArgs product = {.M = args.M,
                              .N = N,
                              .K = weight.K,
                              .x = args.x,
                              .x_stride = args.x_stride,
                              .weight = weight.values.data()};
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    // 16-byte stores need rows on such borders.
    const bool vectors = args.out_stride % kGateUpGroup == 0 &&
                         reinterpret_cast<uintptr_t>(args.out) % (sizeof(X) * kGateUpGroup) == 0;
    cuda::sliced_product(context, product, [&](int64_t first, int64_t columns, float* slice) {
      const int64_t threads = args.M * columns / (2 * kGateUpGroup);
      const auto blocks = static_cast<unsigned>(cuda::ceil_div(threads, int64_t{cuda::kThreads}));
      cuda::launch(context, cuda::silu_pairs<X>,
                   {.grid = dim3(blocks), .block = dim3(cuda::kThreads)},
                   static_cast<X*>(args.out) + first / 2, slice, args.M, columns, args.out_stride,
                   weight.I - first / 2, vectors);
    });
  });
}

}  // namespace deltaserve
