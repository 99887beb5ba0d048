// The layout of a KV block of the CPU backend: for each kv head its K, then its V, in X.
//   K is transposed in pairs of dimensions: [head_dim / 2][kBlockSize][2], so that one vector holds
//   the same dimension of the block's 16 tokens and scores need no horizontal sum.
//   V is paired by tokens: [kBlockSize / 2][head_dim][2], so that a vector holds 16 dimensions.
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

constexpr int64_t v_index(int64_t offset, int64_t dim, int64_t head_dim) {
  return (offset / 2 * head_dim + dim) * 2 + offset % 2;
}

}  // namespace deltaserve
