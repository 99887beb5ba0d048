// linear and gate_up_silu for at most 16 rows of x, or 32 where W is small, in bfloat16: bound by
// reading W once (see skinny_tile.cuh). All M share one order of sums, so a row has the same bits
// alone and in a batch.
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/skinny_form.cuh"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve {
namespace cuda {
namespace {

struct SkinnyParams {
  const bf16* weight;  // [rows][K]
  const bf16* x;       // [M][x_stride]
  void* out;
  int64_t rows;
  int64_t K;
  int64_t x_stride;
  int64_t out_stride;
  int32_t M;
};

template <typename Form>
__device__ __forceinline__ void multiply(const SkinnyParams& params, SkinnySums<Form>& sums) {
  constexpr int kRowTiles = Form::kRowTiles;
  constexpr int kTokenTiles = Form::kTokenTiles;
  const int64_t first = int64_t{blockIdx.x} * kRowTiles * kSkinnyRows;
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const bf16* rows[kRowTiles][2];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Rows beyond the last read the last; their results are not stored.
      const int64_t row = min(first + r * kSkinnyRows + half * 8 + g, params.rows - 1);
      rows[r][half] = params.weight + row * params.K;
    }
  }
  const bf16* x[kTokenTiles];
#pragma unroll
  for (int m = 0; m < kTokenTiles; ++m) {
    const int token = m * kSkinnyTokens + g;
    x[m] = token < params.M ? params.x + token * params.x_stride : nullptr;
  }
  skinny_products<Form>(rows, x, params.K, sums);
}

template <typename Form, typename Out>
__global__ void __launch_bounds__(Form::kThreads, Form::kBlocks)
    skinny_linear_kernel(SkinnyParams params) {
  using Sums = SkinnySums<Form>;
  __shared__ Sums sums;
  multiply<Form>(params, sums);
  const int64_t first = int64_t{blockIdx.x} * Form::kRowTiles * kSkinnyRows;
  for (int e = static_cast<int>(threadIdx.x); e < Sums::kCount; e += Form::kThreads) {
    const int64_t row = first + Sums::row(e);
    const int token = Sums::token(e);
    if (row < params.rows && token < params.M) {
      static_cast<Out*>(params.out)[token * params.out_stride + row] = from_float<Out>(sums.sum(e));
    }
  }
}

// Rows of W in groups of 8 gate and 8 up: a tile's rows g and g + 8 are a pair.
template <typename Form>
__global__ void __launch_bounds__(Form::kThreads, Form::kBlocks)
    skinny_gate_up_kernel(SkinnyParams params, int64_t I) {
  static_assert(kGateUpGroup * 2 == kSkinnyRows);
  using Sums = SkinnySums<Form>;
  __shared__ Sums sums;
  multiply<Form>(params, sums);
  const int64_t first = int64_t{blockIdx.x} * Form::kRowTiles * kSkinnyRows;
  for (int i = static_cast<int>(threadIdx.x); i < Sums::kCount / 2; i += Form::kThreads) {
    const int e = i / 2 * 4 + i % 2;
    const int64_t row = first + Sums::row(e);
    const int64_t column = row / kSkinnyRows * kGateUpGroup + row % kGateUpGroup;
    const int token = Sums::token(e);
    if (column < I && token < params.M) {
      static_cast<bf16*>(params.out)[token * params.out_stride + column] =
          from_float<bf16>(silu(sums.sum(e)) * sums.sum(e + 2));
    }
  }
}

// From this many rows of W there are thread blocks enough to fill the device several times; below
// the second, too few to hide latency unless each has more warps.
constexpr int64_t kManyRows = 8192;
constexpr int64_t kFewRows = 3072;

// Calls f with the form of a shape. Those that share a W share the number of warps, and with it the
// order of sums.
template <typename F>
void with_form(int64_t M, int64_t rows, F&& f) {
  if (rows <= kFewRows) {
    if (M <= kSkinnyTokens) {
      f(SkinnyForm<1, 1, 16, true, 1>{});
    } else if (M <= 2 * kSkinnyTokens) {
      f(SkinnyForm<1, 2, 16, true, 1>{});
    } else {
      f(SkinnyForm<1, 4, 16, false, 1>{});
    }
  } else if (M > kSkinnyTokens) {
    f(SkinnyForm<2, 2, 8, false, 2>{});
  } else if (rows <= kManyRows) {
    f(SkinnyForm<1, 1, 8, true, 3>{});
  } else {
    f(SkinnyForm<1, 1, 8, false, 5>{});
  }
}

template <typename Form>
LaunchShape shape_of(int64_t rows) {
  return {
      .grid = dim3(static_cast<unsigned>(ceil_div<int64_t>(rows, Form::kRowTiles * kSkinnyRows))),
      .block = dim3(Form::kThreads)};
}

}  // namespace
}  // namespace cuda

bool serves_skinny(int64_t M, int64_t N, int64_t K) {
  const int64_t most = N <= cuda::kFewRows ? 2 * kMaxSkinnyRows : kMaxSkinnyRows;
  return M <= most && K % cuda::kSkinnyPiece == 0;
}

void launch_skinny_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const cuda::SkinnyParams params{.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                                  .x = static_cast<const cuda::bf16*>(args.x),
                                  .out = args.out,
                                  .rows = weight.N,
                                  .K = weight.K,
                                  .x_stride = args.x_stride,
                                  .out_stride = args.out_stride,
                                  .M = static_cast<int32_t>(args.M)};
  cuda::with_form(args.M, weight.N, [&]<typename Form>(Form) {
    const auto kernel = args.out_float ? cuda::skinny_linear_kernel<Form, float>
                                       : cuda::skinny_linear_kernel<Form, cuda::bf16>;
    if constexpr (Form::kTokenTiles > 1) {
      cuda::prefer_loads(context, kernel);
    }
    cuda::launch_early(context, kernel, cuda::shape_of<Form>(weight.N), params);
  });
}

void launch_skinny_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t rows =
      cuda::ceil_div<int64_t>(weight.I, kGateUpGroup) * 2 * kGateUpGroup;  // padded
  const cuda::SkinnyParams params{.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                                  .x = static_cast<const cuda::bf16*>(args.x),
                                  .out = args.out,
                                  .rows = rows,
                                  .K = weight.K,
                                  .x_stride = args.x_stride,
                                  .out_stride = args.out_stride,
                                  .M = static_cast<int32_t>(args.M)};
  cuda::with_form(args.M, rows, [&]<typename Form>(Form) {
    const auto kernel = cuda::skinny_gate_up_kernel<Form>;
    if constexpr (Form::kTokenTiles > 1) {
      cuda::prefer_loads(context, kernel);
    }
    cuda::launch_early(context, kernel, cuda::shape_of<Form>(rows), params, weight.I);
  });
}

}  // namespace deltaserve
