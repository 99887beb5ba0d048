// The inner part of attention: a group of query vectors (row x query head of one kv head) against
// one split of a sequence's KV blocks. A split is a fixed range of absolute positions, so what a
// vector gets from it depends on nothing else; splits are merged in ascending order (attention.cc).
#pragma once

#include <cstdint>

#include "backends/cpu/cpu_backend.h"
#include "ops/args.h"
#include "tensor/dtype.h"

namespace deltaserve {

// Tokens of a split: 512 KiB of bfloat16 K and V at head_dim 256, which stays in L2 while all query
// vectors of a task pass over it, and long enough that a merge costs under 1 %.
inline constexpr int64_t kAttentionSplit = 512;

// Query vectors whose sums stay in registers together: 8 x 2 AVX-512 registers. Sets with 16
// registers process the same group four at a time.
inline constexpr int64_t kAttentionGroup = 8;

// What one query vector knows after some tokens: out / sum is the softmax-weighted mean of V.
struct SoftmaxState {
  float largest = 0.0F;  // of the scores
  float sum = 0.0F;      // of exp(score - largest)
};

struct AttentionSplit {
  int64_t count = 0;         // query vectors, 1..kAttentionGroup
  const float* q = nullptr;  // [count, head_dim]
  // [count] tokens of the split that a vector sees, 1..kAttentionSplit, not descending.
  const int64_t* lengths = nullptr;
  const int32_t* blocks = nullptr;  // ids of the split's KV blocks
  const void* kv_cache = nullptr;   // at this kv head's K of block 0
  int64_t block_stride = 0;         // elements from block to block
  int64_t head_dim = 0;
  float scale = 0.0F;
  float* scores = nullptr;         // scratch [count, kAttentionSplit]
  SoftmaxState* states = nullptr;  // [count]
  float* out = nullptr;            // [count, head_dim]
};

struct AttentionFunctions {
  void (*load_query)(DType x_dtype, const void* q, int64_t head_dim, float* out) = nullptr;
  void (*split)(DType x_dtype, const AttentionSplit& split) = nullptr;
  // Scores to exp(score - largest), zero from `length` on, up to a whole vector.
  SoftmaxState (*softmax)(float* scores, int64_t length) = nullptr;
  // Adds a later split to `state` and `out` [head_dim].
  void (*merge)(SoftmaxState& state, float* out, const SoftmaxState& later, const float* later_out,
                int64_t head_dim) = nullptr;
  // result = out / sum * sigmoid(gate), rounded to X.
  void (*finish)(DType x_dtype, const SoftmaxState& state, const float* out, const void* gate,
                 int64_t head_dim, void* result) = nullptr;
};

AttentionFunctions attention_functions(CpuIsa isa);

}  // namespace deltaserve
