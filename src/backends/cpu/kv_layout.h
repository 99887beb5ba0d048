// The layout of a KV block of the CPU backend: for each kv head its K, then its V, in X.
//   K is transposed in pairs of dimensions: [head_dim / 2][kBlockSize][2], so that one vector holds
//   the same dimension of the block's 16 tokens and scores need no horizontal sum.
//   V is paired by tokens in slices of 16 dimensions: [head_dim / 16][kBlockSize / 2][16][2], so
//   that a vector holds 16 dimensions and a kernel that goes slice by slice reads memory in order.
// Pairs make one 64-byte load of bfloat16 give two float32 vectors with a shift and a mask; they
// are also the operand form of dot-product and tile instructions. float32 uses the same index
// functions.
#pragma once

#include <cstdint>

#include "ops/batch_view.h"

namespace deltaserve {

// Elements of K, or of V, of one head of a block.
constexpr int64_t kv_head_elements(int64_t head_dim) {
  return kBlockSize * head_dim;
}

constexpr int64_t k_index(int64_t offset, int64_t dim) {
  return (dim / 2 * kBlockSize + offset) * 2 + dim % 2;
}

// Dimensions of a slice of V.
inline constexpr int64_t kValueSlice = 16;

constexpr int64_t v_index(int64_t offset, int64_t dim) {
  const int64_t row = dim / kValueSlice * (kBlockSize / 2) + offset / 2;
  return (row * kValueSlice + dim % kValueSlice) * 2 + offset % 2;
}

}  // namespace deltaserve
