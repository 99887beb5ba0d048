// linear and gate_up_silu of one row of x in bfloat16: a warp sums two rows of W, 512 neighbouring
// bytes of each at a time, with four such pieces of each row on the way. Two rows of 2,048 or one
// of 4,096 are all on the way at once. Bound by reading W once; the first pieces are asked for
// before the kernel before this one has ended, and the next kernel may do so as soon as all blocks
// of this one have begun.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/row_product.h"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kWarps = 4;          // of a thread block
constexpr int kRows = 2;           // of a warp
constexpr int kPieces = 4;         // of a row that are on the way
constexpr int kPiece = kWarp * 8;  // elements: 16 bytes a lane

struct RowParams {
  const bf16* weight;  // [rows][K]
  const bf16* x;       // [K]
  void* out;
  int64_t rows;  // of W, or I for gate_up
  int32_t K;
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

__device__ __forceinline__ void add_products(uint4 w, const float (&x)[8], float& sum) {
  const uint32_t words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = unpack_bf16(words[i]);
    sum = fmaf(pair.x, x[2 * i], sum);
    sum = fmaf(pair.y, x[2 * i + 1], sum);
  }
}

// Sums of two rows; every lane gets them. K is a multiple of kPieces * kPiece.
__device__ __forceinline__ void multiply_rows(const bf16* const (&rows)[kRows], const bf16* x,
                                              int K, float (&sums)[kRows]) {
  constexpr int kStep = kPieces * kPiece;
  Pieces now;
  Pieces next;
  load_pieces(rows, 0, now);
  let_next_start();
  wait_for_previous_behind_loads(K < 0);
  for (int k = 0; k < K; k += kStep) {
    if (k + kStep < K) {
      load_pieces(rows, k + kStep, next);
    }
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      float values[8];
      load(x + k + p * kPiece, values);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        add_products(now[r][p], values, sums[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int p = 0; p < kPieces; ++p) {
        now[r][p] = next[r][p];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    sums[r] = warp_sum(sums[r]);
  }
}

template <bool kGateUp, typename Out>
__global__ void __launch_bounds__(kWarps* kWarp) row_product(RowParams params) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t pair = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  // gate_up: output `pair` from rows g and g + 8 of its group of 16.
  const int64_t first =
      kGateUp ? pair / kGateUpGroup * 2 * kGateUpGroup + pair % kGateUpGroup : pair * kRows;
  const int64_t step = kGateUp ? kGateUpGroup : 1;
  const int64_t last = kGateUp ? params.rows - 1 : (params.rows - 1) / kRows;
  if (pair > last) {
    return;
  }
  const bool second = kGateUp || first + 1 < params.rows;
  const bf16* row = params.weight + first * params.K + lane * 8;
  const bf16* const rows[kRows] = {row, second ? row + step * params.K : row};
  float sums[kRows] = {};
  multiply_rows(rows, params.x + lane * 8, params.K, sums);
  if (lane == 0) {
    Out* out = static_cast<Out*>(params.out);
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

template <bool kGateUp, typename Out>
void launch_rows(const CudaContext& context, const RowParams& params) {
  const int64_t pairs = kGateUp ? params.rows : ceil_div<int64_t>(params.rows, kRows);
  launch_early(context, row_product<kGateUp, Out>,
               {.grid = dim3(static_cast<unsigned>(ceil_div<int64_t>(pairs, kWarps))),
                .block = dim3(kWarps * kWarp)},
               params);
}

// Larger matrices go through the device in many rounds, to which whole rows give nothing (12,352 x
// 2,048 again and again: 14.0 us against 13.8). Between other kernels they come while these end: a
// layer of the 35B-A3B takes 43.5 us with both its products so, else 44.4.
constexpr int64_t kMostWholeBytes = int64_t{64} << 20;

template <typename Out>
void launch_products(const CudaContext& context, const RowParams& params) {
  const bool whole = params.rows * params.K * int64_t{sizeof(bf16)} <= kMostWholeBytes;
  if (whole && params.K == 8 * kPiece) {
    launch_whole_rows<Out, 2, 8, 4>(context, params);
  } else if (whole && params.K == 16 * kPiece) {
    launch_whole_rows<Out, 1, 16, 8>(context, params);
  } else {
    launch_rows<false, Out>(context, params);
  }
}

}  // namespace
}  // namespace cuda

bool serves_row(const CudaContext& context, int64_t M, int64_t K) {
  return context.compute_dtype == DType::kBF16 && M == 1 && K % (cuda::kPieces * cuda::kPiece) == 0;
}

void launch_row_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const cuda::RowParams params{.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                               .x = static_cast<const cuda::bf16*>(args.x),
                               .out = args.out,
                               .rows = weight.N,
                               .K = static_cast<int32_t>(weight.K)};
  if (args.out_float) {
    cuda::launch_products<float>(context, params);
  } else {
    cuda::launch_products<cuda::bf16>(context, params);
  }
}

void launch_row_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  cuda::launch_rows<true, cuda::bf16>(
      context, {.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                .x = static_cast<const cuda::bf16*>(args.x),
                .out = args.out,
                .rows = weight.I,
                .K = static_cast<int32_t>(weight.K)});
}

}  // namespace deltaserve
