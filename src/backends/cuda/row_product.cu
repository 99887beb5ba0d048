// linear and gate_up_silu of one row of x in bfloat16: a warp sums two rows of W, 512 neighbouring
// bytes of each at a time, with four such pieces of each row on the way. Two rows of 2,048 or
// 4,096 are all on the way at once. Bound by reading W once; the first pieces are asked for
// before the kernel before this one has ended, and the next kernel may do so as soon as all blocks
// of this one have begun. It takes rows of a norm without its scale, and makes them
// (norm_scale.cuh).
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/row_norm.cuh"
#include "backends/cuda/row_pieces.cuh"
#include "backends/cuda/row_product.h"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = kRowWarps;
constexpr int kRows = kRowRows;
constexpr int kPieces = 4;  // of a row that are on the way
constexpr int kPiece = kRowPiece;

struct RowParams {
  const bf16* weight;  // [rows][K]
  const bf16* x;       // [K]
  void* out;
  int64_t rows;  // of W, or I for gate_up
  int32_t K;
  NormScale scale;  // of x
  NormRows norm;
};

using Pieces = uint4[kRows][kPieces];

__device__ __forceinline__ void load_pieces(const bf16* const (&rows)[kRows], int k,
                                            Pieces& pieces) {
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      pieces[r][p] = load_once(rows[r] + k + p * kPiece);
    }
  }
}

// Sums of two rows; every lane gets them. K is a multiple of kPieces * kPiece. `on_ready` is called
// behind the wait.
template <typename OnReady>
__device__ __forceinline__ void multiply_rows(const bf16* const (&rows)[kRows],
                                              const RowParams& params, float (&sums)[kRows],
                                              const OnReady& on_ready) {
  constexpr int kStep = kPieces * kPiece;
  const int K = params.K;
  const bf16* x = params.x + threadIdx.x % kWarp * 8;
  Pieces pieces[2];
  load_pieces(rows, 0, pieces[0]);
  let_next_start();
  wait_for_previous_behind_loads(K < 0);
  if (kStep < K) {
    load_pieces(rows, kStep, pieces[1]);
  }
  on_ready();
  for (int k = 0; k < K; k += 2 * kStep) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = k + half * kStep;
      if (at >= K) {
        break;
      }
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        float values[8];
        load(x + at + p * kPiece, values);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          add_products(pieces[half][r][p], values, sums[r]);
        }
      }
      if (at + 2 * kStep < K) {
        load_pieces(rows, at + 2 * kStep, pieces[half]);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    sums[r] = warp_sum(sums[r]);
  }
}

template <ProductResult kResult, typename Out>
__global__ void __launch_bounds__(kWarps* kWarp) row_product(const RowParams params) {
  constexpr bool kGateUp = kResult == ProductResult::kGateUp;
  __shared__ RowScale x_scale;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t pair = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  // gate_up: output `pair` from rows g and g + 8 of its group of 16. Pairs behind the last read it.
  const int64_t last = kGateUp ? params.rows - 1 : (params.rows - 1) / kRows;
  const int64_t here = min(pair, last);
  const int64_t first =
      kGateUp ? here / kGateUpGroup * 2 * kGateUpGroup + here % kGateUpGroup : here * kRows;
  const int64_t step = kGateUp ? kGateUpGroup : 1;
  const bool second = kGateUp || first + 1 < params.rows;
  const bf16* row = params.weight + first * params.K + lane * 8;
  const bf16* const rows[kRows] = {row, second ? row + step * params.K : row};
  float sums[kRows] = {};
  RowNorm norm;
  multiply_rows(rows, params, sums, [&] {
    x_scale.begin(params.scale);
    if constexpr (kResult == ProductResult::kNorm) {
      norm.load(params.norm, first);
    }
  });
  const float scale = x_scale.end(params.scale);
#pragma unroll
  for (float& sum : sums) {
    sum *= scale;
  }
  Out* out = static_cast<Out*>(params.out);
  if constexpr (kResult == ProductResult::kNorm) {
    norm.store(params.norm, first, sums, x_scale.partial);
  } else if (lane == 0 && pair <= last) {
    if constexpr (kGateUp) {
      out[pair] = from_float<Out>(silu(sums[0]) * sums[1]);
    } else {
      out[first] = from_float<Out>(sums[0]);
      if (second) {
        out[first + 1] = from_float<Out>(sums[1]);
      }
    }
  }
}

// A warp's rows of W as a whole: kWholeRows rows of kRowPieces pieces. Sums are those of
// row_product.
template <typename Out, int kWholeRows, int kRowPieces, int kBlockWarps>
__global__ void __launch_bounds__(kBlockWarps* kWarp) whole_row_product(RowParams params) {
  constexpr int64_t kColumns = kRowPieces * kPiece;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first = (int64_t{blockIdx.x} * kBlockWarps + threadIdx.x / kWarp) * kWholeRows;
  if (first >= params.rows) {
    return;
  }
  uint4 pieces[kWholeRows][kRowPieces];
#pragma unroll
  for (int r = 0; r < kWholeRows; ++r) {
    const bf16* row = params.weight + min(first + r, params.rows - 1) * kColumns + lane * 8;
#pragma unroll
    for (int p = 0; p < kRowPieces; ++p) {
      pieces[r][p] = load_once(row + p * kPiece);
    }
  }
  let_next_start();
  wait_for_previous_behind_loads(params.K < 0);
  float sums[kWholeRows] = {};
#pragma unroll
  for (int p = 0; p < kRowPieces; ++p) {
    float values[8];
    load(params.x + lane * 8 + p * kPiece, values);
#pragma unroll
    for (int r = 0; r < kWholeRows; ++r) {
      add_products(pieces[r][p], values, sums[r]);
    }
  }
  Out* out = static_cast<Out*>(params.out);
#pragma unroll
  for (int r = 0; r < kWholeRows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (lane == 0 && first + r < params.rows) {
      out[first + r] = from_float<Out>(sum);
    }
  }
}

template <typename Out, int kWholeRows, int kRowPieces, int kBlockWarps>
void launch_whole_rows(const CudaContext& context, const RowParams& params) {
  constexpr int kBlockRows = kWholeRows * kBlockWarps;
  launch_early(context, whole_row_product<Out, kWholeRows, kRowPieces, kBlockWarps>,
               {.grid = dim3(static_cast<unsigned>(ceil_div<int64_t>(params.rows, kBlockRows))),
                .block = dim3(kBlockWarps * kWarp)},
               params);
}

template <ProductResult kResult, typename Out>
void launch_rows(const CudaContext& context, const RowParams& params) {
  constexpr int64_t kResultRows = kResult == ProductResult::kGateUp ? 1 : kRows;
  launch_early(
      context, row_product<kResult, Out>,
      {.grid = dim3(static_cast<unsigned>(ceil_div<int64_t>(params.rows, kResultRows * kWarps))),
       .block = dim3(kWarps * kWarp)},
      params);
}

// Larger matrices go through the device in many rounds, to which whole rows give nothing (12,352 x
// 2,048 again and again: 14.0 us against 13.8). Between other kernels they come while these end: a
// layer of the 35B-A3B takes 43.5 us with both its products so, else 44.4.
constexpr int64_t kMostWholeBytes = int64_t{64} << 20;

constexpr bool takes_whole_rows(int64_t rows, int64_t K) {
  return rows * K * int64_t{sizeof(bf16)} <= kMostWholeBytes &&
         (K == 8 * kPiece || K == 16 * kPiece);
}

template <typename Out>
void launch_products(const CudaContext& context, const RowParams& params) {
  const bool whole = params.scale.squares == nullptr && takes_whole_rows(params.rows, params.K);
  if (whole && params.K == 8 * kPiece) {
    launch_whole_rows<Out, 2, 8, 4>(context, params);
  } else if (whole) {
    launch_whole_rows<Out, 2, 16, 4>(context, params);
  } else {
    launch_rows<ProductResult::kPlain, Out>(context, params);
  }
}

}  // namespace
}  // namespace cuda

bool serves_row(const CudaContext& context, int64_t M, int64_t K) {
  return context.compute_dtype == DType::kBF16 && M == 1 && K % (cuda::kPieces * cuda::kPiece) == 0;
}

bool serves_whole_rows(const CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  return serves_row(context, args.M, weight.K) && cuda::takes_whole_rows(weight.N, weight.K);
}

namespace {

cuda::RowParams row_params(const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  return {.weight = static_cast<const cuda::bf16*>(weight.values.data()),
          .x = static_cast<const cuda::bf16*>(args.x),
          .out = args.out,
          .rows = weight.N,
          .K = static_cast<int32_t>(weight.K),
          .scale = args.x_scale,
          .norm = {}};
}

}  // namespace

void launch_row_linear(CudaContext& context, const LinearArgs& args) {
  if (args.out_float) {
    cuda::launch_products<float>(context, row_params(args));
  } else {
    cuda::launch_products<cuda::bf16>(context, row_params(args));
  }
}

void launch_row_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  cuda::launch_rows<cuda::ProductResult::kGateUp, cuda::bf16>(
      context, {.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                .x = static_cast<const cuda::bf16*>(args.x),
                .out = args.out,
                .rows = weight.I,
                .K = static_cast<int32_t>(weight.K),
                .scale = args.x_scale,
                .norm = {}});
}

std::optional<NormScale> launch_row_norm(CudaContext& context, const LinearNormArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.linear.weight);
  // A thread block has kRows rows a warp and makes one part of the squares.
  constexpr int64_t kBlockRows = cuda::kWarps * cuda::kRows;
  if (!serves_row(context, args.linear.M, weight.K) || !serves_row(context, 1, weight.N) ||
      cuda::takes_whole_rows(weight.N, weight.K) ||
      cuda::takes_whole_rows(args.next_rows, weight.N) || weight.N / kBlockRows > kNormSquares) {
    return std::nullopt;
  }
  cuda::RowParams params = row_params(args.linear);
  params.norm = cuda::norm_rows(args);
  cuda::launch_rows<cuda::ProductResult::kNorm, float>(context, params);
  return NormScale{.squares = args.squares,
                   .parts = static_cast<int32_t>(weight.N / kBlockRows),
                   .width = static_cast<int32_t>(weight.N),
                   .eps = args.eps};
}

}  // namespace deltaserve
