// The experts' down products and their sum for a handful of tokens in one launch: a thread block
// takes 16 rows of H of one token, a warp each of its experts. A warp keeps the sums of every
// eighth piece of K apart and adds them in order, as the warps of skinny_tile.cuh do, so that the
// bits are those of the separate products.
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarp;
constexpr int kChains = 8;  // sums kept apart: the warps of the form for more tokens
constexpr int kBatch = 4;   // pieces of K that are loaded at once

// Rows g and g + 8 (lanes t = 0) of one expert's tile times one row of x; all lanes call it.
__device__ float2 tile_dot(const bf16* tile, const bf16* x, int64_t K) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bf16* low = tile + lane / 4 * K + lane % 4 * 8;
  const bf16* high = low + 8 * K;
  const bool has_x = lane < 4;  // column 0 of the second operand; the others are zero
  x += lane % 4 * 8;
  float out[kChains][4] = {};
  const auto pieces = static_cast<int>(K / kSkinnyPiece);
  for (int first = 0; first < pieces; first += kChains) {
#pragma unroll
    for (int half = 0; half < kChains; half += kBatch) {
      uint4 w[kBatch][2][2];
      uint4 b[kBatch][2];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int64_t k = int64_t{first + half + i} * kSkinnyPiece;
        if (first + half + i < pieces) {
#pragma unroll
          for (int p = 0; p < 2; ++p) {
            w[i][0][p] = load_once(low + k + p * (kSkinnyPiece / 2));
            w[i][1][p] = load_once(high + k + p * (kSkinnyPiece / 2));
            b[i][p] = make_uint4(0, 0, 0, 0);
            if (has_x) {
              b[i][p] = *reinterpret_cast<const uint4*>(x + k + p * (kSkinnyPiece / 2));
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (first + half + i < pieces) {
#pragma unroll
          for (int p = 0; p < 2; ++p) {
            const uint4& l = w[i][0][p];
            const uint4& h = w[i][1][p];
            mma_bf16(out[half + i], l.x, h.x, l.y, h.y, b[i][p].x, b[i][p].y);
            mma_bf16(out[half + i], l.z, h.z, l.w, h.w, b[i][p].z, b[i][p].w);
          }
        }
      }
    }
  }
  float2 sum = make_float2(0.0F, 0.0F);
#pragma unroll
  for (const auto& chain : out) {
    sum.x += chain[0];
    sum.y += chain[2];
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    moe_few_kernel(MoeArgs args, const bf16* weight, int64_t I, int64_t H, const bf16* act) {
  __shared__ float rows[kWarps][kSkinnyRows];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t t = blockIdx.y;
  const int64_t first = int64_t{blockIdx.x} * kSkinnyRows;
  float sum = 0.0F;
  for (int base = 0; base < args.K; base += kWarps) {
    if (base + warp < args.K) {
      const int64_t entry = t * args.K + base + warp;
      const bf16* tile = weight + (args.expert_ids[entry] * H + first) * I;
      const float2 dots = tile_dot(tile, act + entry * I, I);
      if (lane % 4 == 0) {
        rows[warp][lane / 4] = dots.x;
        rows[warp][lane / 4 + 8] = dots.y;
      }
    }
    __syncthreads();
    if (threadIdx.x < kSkinnyRows) {
      for (int k = base; k < min(base + kWarps, args.K); ++k) {
        sum = __fmaf_rn(args.weights[t * args.K + k], rows[k - base][threadIdx.x], sum);
      }
    }
    __syncthreads();
  }
  if (threadIdx.x < kSkinnyRows) {
    const float gate = sigmoid(args.shared_gate[t * args.shared_gate_stride]);
    const int64_t h = first + threadIdx.x;
    args.out[t * H + h] = __fmaf_rn(gate, args.shared[t * H + h], sum);
  }
}

}  // namespace

void launch_moe_few(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  launch_moe_decode_gate_up(context, args, buffers, {});
  launch(
      context, moe_few_kernel,
      {.grid = dim3(static_cast<unsigned>(experts.H / kSkinnyRows), static_cast<unsigned>(args.T)),
       .block = dim3(kThreads)},
      args, static_cast<const bf16*>(experts.down.data()), experts.I, experts.H,
      static_cast<const bf16*>(buffers.act));
}

}  // namespace deltaserve::cuda
