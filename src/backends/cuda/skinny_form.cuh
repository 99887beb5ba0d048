// Tiles of matrices with few rows of x: their shape, how a thread block works on them and where its
// sums lie (skinny_tile.cuh multiplies).
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {

inline constexpr int kSkinnyPiece = 64;  // of K
inline constexpr int kSkinnyRows = 16;   // of W in a tile
inline constexpr int kSkinnyTokens = 8;  // rows of x in a tile

// How a thread block works. What is in flight hides the latency of memory: many warps with one
// piece each, or fewer that load the next piece ahead.
template <int RowTiles, int TokenTiles, int Warps, bool Ahead, int Blocks>
struct SkinnyForm {
  static constexpr int kRowTiles = RowTiles;
  static constexpr int kTokenTiles = TokenTiles;
  static constexpr int kWarps = Warps;
  static constexpr int kThreads = Warps * kWarp;
  static constexpr bool kAhead = Ahead;
  static constexpr int kBlocks = Blocks;  // that should fit a multiprocessor
};

template <typename Form>
struct SkinnySums {
  static constexpr int kTokenTiles = Form::kTokenTiles;
  static constexpr int kCount = Form::kRowTiles * kTokenTiles * kSkinnyRows * kSkinnyTokens;
  alignas(16) float partial[Form::kWarps][kCount];  // stored 16 bytes at a time

  // Result e once all warps have stored theirs.
  __device__ float sum(int e) const {
    float total = 0.0F;
#pragma unroll
    for (int w = 0; w < Form::kWarps; ++w) {
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

// Behind streamed products, which leave a multiprocessor 28 KiB for what is on its way to
// registers, a kernel wishes for 64 of 228 KiB of shared memory, which all forms' blocks fit: 28 %.
template <typename Kernel>
void prefer_loads(const CudaContext& context, Kernel* kernel) {
  constexpr int kPercent = 28;
  if (context.device.arch == kStreamedArch) {
    prefer_shared(kernel, kPercent);
  }
}

// 16 bytes that nobody reads again soon.
__device__ __forceinline__ uint4 load_once(const bf16* from) {
  uint4 piece;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(piece.x), "=r"(piece.y), "=r"(piece.z), "=r"(piece.w)
               : "l"(from));
  return piece;
}

}  // namespace deltaserve::cuda
