// add_rms_norm and linear of its result for one row of 2,048 in bfloat16, in one launch: every
// thread block makes the norm again, from 8 KiB of the second level cache, and multiplies eight
// rows of W. Behind many loads of weights even what the cache has comes late, so little of W is
// asked for before the kernel before this one has ended, and the residual next.
// Norm and sums are those of add_rms_norm.cu and row_product.cu to the bit.
#include <cuda_pipeline_primitives.h>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/row_pieces.cuh"
#include "backends/cuda/row_product.h"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kH = 2048;
constexpr int kWarps = 4;  // of a thread block
constexpr int kThreads = kWarps * kWarp;
constexpr int kBlocks = 5;  // that a multiprocessor holds
constexpr int kRows = 2;    // of a warp
constexpr int kPieces = kH / kRowPiece;
constexpr int kPiecesBefore = 2;  // that are asked for before the wait
// add_rms_norm has four elements a thread: a thread here does so many of its threads' work.
constexpr int kNormThreads = kH / 4;
constexpr int kParts = kNormThreads / kThreads;
constexpr int kNormWarps = kNormThreads / kWarp;

struct NormProduct {
  const bf16* weight;     // [rows][kH]
  const float* residual;  // [kH]
  const float* norm;      // [kH]
  float eps;
  bf16* out;  // [rows]
  int32_t rows;
};

struct NormShared {
  alignas(16) float factors[kH];
  alignas(16) bf16 x[kH];
  float partial[kNormWarps];
};

__device__ __forceinline__ int norm_element(int part) {
  return (part * kThreads + static_cast<int>(threadIdx.x)) * 4;
}

__device__ __forceinline__ void fetch_factors(const NormProduct& product, NormShared& shared) {
#pragma unroll
  for (int v = 0; v < kParts; ++v) {
    __pipeline_memcpy_async(shared.factors + norm_element(v), product.norm + norm_element(v),
                            sizeof(float4));
  }
  __pipeline_commit();
}

// In front of the loads that follow: no other load passes it.
__device__ __forceinline__ void load_now(const float* from, float (&to)[4]) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from)
               : "memory");
}

// shared.x, once all threads have called it with their part of the row.
__device__ __forceinline__ void norm_row(const NormProduct& product, float (&row)[kParts][4],
                                         NormShared& shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int v = 0; v < kParts; ++v) {
    float sum = 0.0F;
#pragma unroll
    for (const float value : row[v]) {
      sum += value * value;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      shared.partial[v * kWarps + static_cast<int>(threadIdx.x) / kWarp] = sum;
    }
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  const float sum = warp_sum(lane < kNormWarps ? shared.partial[lane] : 0.0F);
  const float scale = 1.0F / sqrtf(sum / static_cast<float>(kH) + product.eps);
#pragma unroll
  for (int v = 0; v < kParts; ++v) {
    float factors[4];
    load(shared.factors + norm_element(v), factors);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      row[v][j] *= scale * (1.0F + factors[j]);
    }
    store(shared.x + norm_element(v), row[v]);
  }
  __syncthreads();
}

template <int kFirst, int kEnd>
__device__ __forceinline__ void load_pieces(const bf16* const (&rows)[kRows],
                                            uint4 (&pieces)[kRows][kPieces]) {
#pragma unroll
  for (int p = kFirst; p < kEnd; ++p) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      pieces[r][p] = load_once(rows[r] + p * kRowPiece);
    }
  }
}

__global__ void __launch_bounds__(kThreads, kBlocks) norm_product(const NormProduct product) {
  __shared__ NormShared shared;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int first =
      (static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp) * kRows;
  const bf16* rows[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    rows[r] = product.weight + int64_t{min(first + r, product.rows - 1)} * kH + lane * 8;
  }
  fetch_factors(product, shared);
  uint4 pieces[kRows][kPieces];
  load_pieces<0, kPiecesBefore>(rows, pieces);
  let_next_start();
  wait_for_previous_behind_loads(product.rows < 0);
  float row[kParts][4];
#pragma unroll
  for (int v = 0; v < kParts; ++v) {
    load_now(product.residual + norm_element(v), row[v]);
  }
  load_pieces<kPiecesBefore, kPieces>(rows, pieces);
  norm_row(product, row, shared);
  float sums[kRows] = {};
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    float values[8];
    load(shared.x + lane * 8 + p * kRowPiece, values);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      add_products(pieces[r][p], values, sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float sum = warp_sum(sums[r]);
    if (lane == 0 && first + r < product.rows) {
      product.out[first + r] = from_float<bf16>(sum);
    }
  }
}

// Where it is worth it: W is read in few rounds of the device (row_product.cu), and the row is not
// changed, which other blocks would see.
bool serves_norm_product(const CudaContext& context, const AddRmsNormArgs& norm,
                         const LinearArgs& args) {
  return norm.T == 1 && norm.H == kH && norm.delta == nullptr && !args.out_float &&
         args.x_scale.squares == nullptr && !context.batch_invariant &&
         context.device.arch >= kEarlyLaunchArch && serves_whole_rows(context, args);
}

}  // namespace
}  // namespace cuda

bool launch_norm_linear(CudaContext& context, const AddRmsNormArgs& norm, const LinearArgs& args) {
  if (!cuda::serves_norm_product(context, norm, args)) {
    return false;
  }
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const cuda::NormProduct product{.weight = static_cast<const cuda::bf16*>(weight.values.data()),
                                  .residual = norm.residual,
                                  .norm = norm.weight,
                                  .eps = norm.eps,
                                  .out = static_cast<cuda::bf16*>(args.out),
                                  .rows = static_cast<int32_t>(weight.N)};
  constexpr int64_t kBlockRows = int64_t{cuda::kWarps} * cuda::kRows;
  cuda::launch_early(context, cuda::norm_product,
                     {.grid = dim3(static_cast<unsigned>(cuda::ceil_div(weight.N, kBlockRows))),
                      .block = dim3(cuda::kThreads)},
                     product);
  return true;
}

}  // namespace deltaserve
