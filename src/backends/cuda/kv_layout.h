// The layout of a KV block of the CUDA backend, in X: for each kv head its K, then its V, each 16
// tokens x head_dim. For bfloat16 heads of 256 a half is stored as the tensor core kernels want to
// find it in shared memory: four tiles of 64 dimensions, in a tile a row of 128 bytes a token, and
// the 16-byte pieces of a row permuted by the row's number (the 128-byte swizzle). So a bulk copy
// of plain bytes lands ready for ldmatrix and wgmma without bank conflicts. All else is row-major.
#pragma once

#include <cstdint>

#include "ops/batch_view.h"
#include "ops/limits.h"

#ifdef __CUDACC__
#define DELTASERVE_HOST_DEVICE __host__ __device__
#else
#define DELTASERVE_HOST_DEVICE
#endif

namespace deltaserve::cuda {

// Elements that move together: 16 bytes of bfloat16.
inline constexpr int64_t kKvPiece = 8;
// The head size that the tensor core kernels of attention serve.
inline constexpr int32_t kTensorHeadDim = 256;
// Dimensions of a swizzled tile: 128 bytes of bfloat16.
inline constexpr int64_t kKvTileDims = 64;

// Element of (block, head) where its K, or its V, begins.
DELTASERVE_HOST_DEVICE constexpr int64_t kv_base(int64_t block, bool value, int64_t head,
                                                 int64_t num_kv_heads, int64_t head_dim) {
  return ((block * num_kv_heads + head) * 2 + (value ? 1 : 0)) * kBlockSize * head_dim;
}

// Element, from `kv_base`, of piece `piece` (dimensions 8 piece ..) of the token at `offset`.
template <bool kSwizzled>
DELTASERVE_HOST_DEVICE constexpr int64_t kv_piece(int64_t offset, int64_t piece, int64_t head_dim) {
  if constexpr (kSwizzled) {
    constexpr int64_t kPieces = kKvTileDims / kKvPiece;
    const int64_t tile = piece / kPieces;
    const int64_t place = (piece % kPieces) ^ (offset % kPieces);
    return (tile * kBlockSize + offset) * kKvTileDims + place * kKvPiece;
  } else {
    return offset * head_dim + piece * kKvPiece;
  }
}

}  // namespace deltaserve::cuda

namespace deltaserve {

// Why attention does not serve these heads, or null.
const char* cuda_attention_refuses(const CacheShape& shape);

}  // namespace deltaserve
