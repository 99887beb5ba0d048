// A product of any shape in both dtypes: a warp multiplies a row of W with four rows of x. The
// order of a sum depends on K only. For batch invariance where no tensor core form serves.
#include <algorithm>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/launch.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kTokens = 4;  // rows of x that share what is read of W

// weight [N][K], x [M][x_stride], out [M][out_stride].
template <typename X, typename Out>
__global__ void __launch_bounds__(kWarps* kWarp) plain_product(MatmulArgs args) {
  const int64_t n = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  const int64_t first = int64_t{blockIdx.y} * kTokens;
  if (n >= args.N) {
    return;
  }
  const X* const row = static_cast<const X*>(args.weight) + n * args.K;
  const X* x[kTokens];
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    // Rows beyond the last read the last; their results are not stored.
    x[i] = static_cast<const X*>(args.x) + min(first + i, args.M - 1) * args.x_stride;
  }
  float sums[kTokens] = {};
  for (int64_t k = threadIdx.x % kWarp; k < args.K; k += kWarp) {
    const float w = to_float(row[k]);
#pragma unroll
    for (int i = 0; i < kTokens; ++i) {
      sums[i] = fmaf(w, to_float(x[i][k]), sums[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    const float sum = warp_sum(sums[i]);
    if (threadIdx.x % kWarp == 0 && first + i < args.M) {
      static_cast<Out*>(args.out)[(first + i) * args.out_stride + n] = from_float<Out>(sum);
    }
  }
}

}  // namespace
}  // namespace cuda

void launch_plain_product(CudaContext& context, const MatmulArgs& args) {
  const cuda::LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(cuda::ceil_div<int64_t>(args.N, cuda::kWarps)),
                   static_cast<unsigned>(cuda::ceil_div<int64_t>(args.M, cuda::kTokens))),
      .block = dim3(cuda::kWarps * cuda::kWarp)};
  cuda::with_x(context.compute_dtype, [&]<typename X>(X*) {
    if (args.out_float) {
      cuda::launch(context, cuda::plain_product<X, float>, shape, args);
    } else {
      cuda::launch(context, cuda::plain_product<X, X>, shape, args);
    }
  });
}

}  // namespace deltaserve
