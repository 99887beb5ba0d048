// The inner product of matrices with few rows of x: a thread block multiplies 16 kRowTiles rows of
// W with 8 kTokenTiles rows of x, reading W once at the speed of memory.
//
// The warps take 64-wide pieces of K in turn. Lane (g, t) loads 16-byte pieces t and t + 4 of rows
// g and g + 8 straight into the first operand of the tensor core's product, and the same pieces of
// x's row g into the second: both see K in the same permuted order, which a sum does not mind. No
// shared memory for W, and nothing to wait for but the loads. The warps' sums meet in warp order,
// so the order of a result's sum depends on K only.
#pragma once

#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/mma_bf16.cuh"

namespace deltaserve::cuda {

inline constexpr int kSkinnyWarps = 8;
inline constexpr int kSkinnyThreads = kSkinnyWarps * kWarp;
inline constexpr int kSkinnyPiece = 64;  // of K
inline constexpr int kSkinnyRows = 16;   // of W in a tile
inline constexpr int kSkinnyTokens = 8;  // rows of x in a tile

// Thread blocks that should fit a multiprocessor: what is in flight is what hides latency.
template <int kRowTiles, int kTokenTiles>
inline constexpr int kSkinnyBlocks = kRowTiles* kTokenTiles == 1 ? 3 : 2;

template <int kRowTiles, int kTokenTiles>
struct SkinnySums {
  static constexpr int kCount = kRowTiles * kTokenTiles * kSkinnyRows * kSkinnyTokens;
  float partial[kSkinnyWarps][kCount];

  // Result e once all warps have stored theirs.
  __device__ float sum(int e) const {
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < kSkinnyWarps; ++w) {
      total += partial[w][e];
    }
    return total;
  }
  // Which row of W and row of x, from the block's first, result e belongs to. Result e + 2 is of
  // the same x and eight rows further down, for even e / 2.
  static __device__ int row(int e) {
    return e / (128 * kTokenTiles) * kSkinnyRows + e / 4 % kWarp / 4 + e / 2 % 2 * 8;
  }
  static __device__ int token(int e) {
    return e / 128 % kTokenTiles * kSkinnyTokens + e / 4 % 4 * 2 + e % 2;
  }
};

// 16 bytes that nobody reads again soon.
__device__ __forceinline__ uint4 load_once(const bf16* from) {
  uint4 piece;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w)
               : "l"(from));
  return piece;
}
__device__ __forceinline__ uint4 load_piece(const bf16* from) {
  return from == nullptr ? make_uint4(0, 0, 0, 0) : *reinterpret_cast<const uint4*>(from);
}

// `rows`: this lane's rows g and g + 8 of each tile of W; `x`: its row g of each tile of x or null,
// which counts as zero. K is a multiple of kSkinnyPiece. Ends with a barrier.
template <int kRowTiles, int kTokenTiles>
__device__ __forceinline__ void skinny_products(const bf16* const (&rows)[kRowTiles][2],
                                                const bf16* const (&x)[kTokenTiles], int64_t K,
                                                SkinnySums<kRowTiles, kTokenTiles>& sums) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t offset = lane % 4 * 8;
  struct Weights {
    uint4 piece[kRowTiles][2][2];  // tile, row g or g + 8, piece t or t + 4
  };
  struct Tokens {
    uint4 piece[kTokenTiles][2];
  };
  const auto load_weights = [&](int64_t block, Weights& to) {
    const int64_t first = block * kSkinnyPiece + offset;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        to.piece[r][half][0] = load_once(rows[r][half] + first);
        to.piece[r][half][1] = load_once(rows[r][half] + first + kSkinnyPiece / 2);
      }
    }
  };
  const auto load_tokens = [&](int64_t block, Tokens& to) {
    const int64_t first = block * kSkinnyPiece + offset;
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
      to.piece[m][0] = load_piece(x[m] == nullptr ? nullptr : x[m] + first);
      to.piece[m][1] = load_piece(x[m] == nullptr ? nullptr : x[m] + first + kSkinnyPiece / 2);
    }
  };
  // Where registers allow it x is loaded a step ahead, as W always is.
  constexpr bool kTokensAhead = kRowTiles * kTokenTiles < 4;
  float out[kRowTiles][kTokenTiles][4] = {};
  const int64_t num_blocks = K / kSkinnyPiece;
  Weights weights;
  Tokens tokens;
  if (warp < num_blocks) {
    load_weights(warp, weights);
    if constexpr (kTokensAhead) {
      load_tokens(warp, tokens);
    }
  }
  for (int64_t block = warp; block < num_blocks; block += kSkinnyWarps) {
    if constexpr (!kTokensAhead) {
      load_tokens(block, tokens);
    }
    Weights next_weights;
    Tokens next_tokens;
    if (block + kSkinnyWarps < num_blocks) {
      load_weights(block + kSkinnyWarps, next_weights);
      if constexpr (kTokensAhead) {
        load_tokens(block + kSkinnyWarps, next_tokens);
      }
    }
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          const uint4 low = weights.piece[r][0][p];
          const uint4 high = weights.piece[r][1][p];
          const uint4 b = tokens.piece[m][p];
          mma_bf16(out[r][m], low.x, high.x, low.y, high.y, b.x, b.y);
          mma_bf16(out[r][m], low.z, high.z, low.w, high.w, b.z, b.w);
        }
      }
    }
    weights = next_weights;
    if constexpr (kTokensAhead) {
      tokens = next_tokens;
    }
  }
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int m = 0; m < kTokenTiles; ++m) {
      float* to = &sums.partial[warp][((r * kTokenTiles + m) * kWarp + lane) * 4];
      *reinterpret_cast<float4*>(to) =
          make_float4(out[r][m][0], out[r][m][1], out[r][m][2], out[r][m][3]);
    }
  }
  __syncthreads();
}

}  // namespace deltaserve::cuda
