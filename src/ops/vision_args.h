// Argument structs of the vision tower's ops, in the style of args.h: X is the compute dtype, the
// residual stream and what is added to it are float32, strides count elements. Rows are patches.
// The maths is defined by the text beside each struct and by ops/reference.
#pragma once

#include <cstdint>

#include "ops/args.h"

namespace deltaserve {

enum class Activation : uint8_t {
  kNone,
  kGeluTanh,  // 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³)))
  kGeluErf,   // 0.5 x (1 + erf(x / sqrt(2)))
};

// out = activation(x Wᵀ + bias): the product accumulated as in LinearArgs, bias and activation in
// float32, one rounding.
struct LinearBiasArgs {
  LinearArgs linear;
  const float* bias = nullptr;  // [N]
  Activation activation = Activation::kNone;
};

// residual += delta (skipped if delta is null); out = (residual - mean) / sqrt(variance + eps) *
// weight + bias, rounded once to X. The variance is the mean squared distance from the mean.
struct AddLayerNormArgs {
  int64_t T = 0;
  int64_t H = 0;
  float* residual = nullptr;      // [T, H], updated
  const float* delta = nullptr;   // [T, H] or null
  const float* weight = nullptr;  // [H]
  const float* bias = nullptr;    // [H]
  float eps = 1e-6F;
  void* out = nullptr;  // [T, H] X
};

// residual[t] += sum over k = 0..3 of weights[k, t] * table[taps[k, t]], k ascending, all float32:
// learned positions, interpolated between four entries of their table.
struct AddPositionsArgs {
  int64_t T = 0;
  int64_t H = 0;
  const float* table = nullptr;    // [P, H]
  const int32_t* taps = nullptr;   // [4, T], each in [0, P)
  const float* weights = nullptr;  // [4, T]
  float* residual = nullptr;       // [T, H], updated
};

// In place, over the whole head, rotate-half: for j < head_dim / 2 the pair (x[j], x[j + head_dim /
// 2]) turns by the angle row * inv_freq[j] for j < head_dim / 4, and column * inv_freq[j - head_dim
// / 4] from there on. float32 inside, rounded once to X.
struct VisionRopeArgs {
  int64_t T = 0;
  int32_t num_heads = 0;
  int32_t head_dim = 0;              // a multiple of 4
  void* q = nullptr;                 // [T, num_heads, head_dim] X, heads contiguous
  void* k = nullptr;                 // as q
  int64_t stride = 0;                // of rows of both
  const int32_t* rows = nullptr;     // [T]
  const int32_t* columns = nullptr;  // [T]
  const float* inv_freq = nullptr;   // [head_dim / 4]
};

// Attention without a mask: each query row sees all keys of its segment. Queries may be some of a
// segment's rows only, so that a large picture is done part by part. A row's bits depend on its own
// query and the keys and values of its segment, not on what else is in the call.
// out = softmax(q kᵀ * scale) v.
struct VisionAttentionArgs {
  int32_t num_segments = 0;             // S
  int64_t num_queries = 0;              // Tq
  int64_t num_keys = 0;                 // Tk
  int32_t max_queries = 0;              // largest number of query rows of a segment
  int32_t max_keys = 0;                 // largest number of keys of a segment
  const int32_t* cu_queries = nullptr;  // [S + 1] first query row of each segment, ends with Tq
  const int32_t* cu_keys = nullptr;     // [S + 1] first key of each segment, ends with Tk
  int32_t num_heads = 0;
  int32_t head_dim = 0;
  float scale = 0.0F;
  const void* q = nullptr;  // [Tq, num_heads, head_dim] X, heads contiguous
  int64_t q_stride = 0;
  const void* k = nullptr;  // [Tk, num_heads, head_dim] X
  const void* v = nullptr;  // as k
  int64_t kv_stride = 0;
  void* out = nullptr;  // [Tq, num_heads * head_dim] X
  int64_t out_stride = 0;
};

}  // namespace deltaserve
