// Argument structs of the ops, one per op: raw pointers to backend memory, shapes beside them, and
// scalars. X is the backend's compute dtype (float32 or bfloat16); strides count elements. The
// residual stream and everything that is added to it are float32 whatever X is.
// The maths is defined by the text beside each struct and by ops/reference. delta_args.h,
// moe_args.h and vision_args.h have the other parts of a model.
#pragma once

#include <cstdint>

#include "ops/batch_view.h"
#include "ops/weights.h"

namespace deltaserve {

struct EmbedArgs {  // out[t] = table[ids[t]]
  int64_t T = 0;
  const int32_t* ids = nullptr;  // [T], each in [0, V)
  const EmbeddingWeight* table = nullptr;
  float* out = nullptr;  // [T, H]
};

// What rows of a norm lack that left its scale to the product that takes them: row m is to be
// multiplied by 1 / sqrt(sum / width + eps), sum being that of squares[m * parts] and the next.
struct NormScale {
  const float* squares = nullptr;  // [M, parts]; null: the rows lack nothing
  int32_t parts = 0;               // a multiple of 4
  int32_t width = 0;               // H
  float eps = 0.0F;
};

struct LinearArgs {  // out = x Wᵀ, accumulated in float32 in an order that depends on K only
  int64_t M = 0;
  const void* x = nullptr;  // [M, K] X
  int64_t x_stride = 0;
  const LinearWeight* weight = nullptr;  // [N, K]
  void* out = nullptr;                   // [M, N] X, or float32 if out_float
  int64_t out_stride = 0;
  bool out_float = false;
  NormScale x_scale = {};  // of a linear_norm of the same backend
};

struct GateUpSiluArgs {  // out = silu(x Wgᵀ) * (x Wuᵀ); the product in float32, rounded once
  int64_t M = 0;
  const void* x = nullptr;  // [M, K] X
  int64_t x_stride = 0;
  const GateUpWeight* weight = nullptr;  // 2 x [I, K]
  void* out = nullptr;                   // [M, I] X
  int64_t out_stride = 0;
  NormScale x_scale = {};  // of a linear_norm of the same backend
};

// residual += delta (skipped if delta is null); out = rms(residual) * (1 + weight), rounded once to
// X.
struct AddRmsNormArgs {
  int64_t T = 0;
  int64_t H = 0;
  float* residual = nullptr;      // [T, H], updated
  const float* delta = nullptr;   // [T, H] or null
  const float* weight = nullptr;  // [H]
  float eps = 1e-6F;
  void* out = nullptr;  // [T, H] X
};

// residual += x Wᵀ; then the norm of the sums but for its scale: out = residual * (1 + weight),
// rounded once to X.
struct LinearNormArgs {
  LinearArgs linear;              // [M, H] of the product; its out is not used
  float* residual = nullptr;      // [M, H], updated
  const float* weight = nullptr;  // [H]
  float eps = 1e-6F;
  void* out = nullptr;       // [M, H] X
  float* squares = nullptr;  // [kNormSquares], for the scale
  int64_t next_rows = 0;     // of the matrix that out is multiplied with
};
inline constexpr int64_t kNormSquares = 8192;  // 256 parts of each of 32 rows

// In place: q and k heads get rms(x) * (1 + weight) over head_dim, then partial M-RoPE (rotate-half
// within the first rotary_dim). Angle of frequency j is position[axis_of(j)] * inv_freq[j].
struct QkNormRopeArgs {
  const BatchView* batch = nullptr;
  int32_t num_heads = 0;     // nh
  int32_t num_kv_heads = 0;  // nkv
  int32_t head_dim = 0;      // hd
  int32_t rotary_dim = 0;
  void* q = nullptr;  // [T, nh, hd] X; heads lie q_head_stride apart (the gate between them)
  int64_t q_stride = 0;
  int64_t q_head_stride = 0;
  void* k = nullptr;  // [T, nkv, hd] X, heads contiguous
  int64_t k_stride = 0;
  const float* q_weight = nullptr;      // [hd]
  const float* k_weight = nullptr;      // [hd]
  const float* inv_freq = nullptr;      // [rotary_dim / 2]
  const uint8_t* mrope_axis = nullptr;  // [rotary_dim / 2] 0 = T, 1 = H, 2 = W
  float attention_factor = 1.0F;        // YaRN's factor on cos and sin
  float eps = 1e-6F;
};

struct WriteKvArgs {  // stores k and v rows at slot_mapping
  const BatchView* batch = nullptr;
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  const void* k = nullptr;   // [T, nkv, hd] X
  const void* v = nullptr;   // [T, nkv, hd] X
  int64_t kv_stride = 0;     // of both
  void* kv_cache = nullptr;  // this layer's blocks, kv_block_bytes each, layout the backend's own
};

// Causal attention over the paged cache, which already holds this step's k and v. A row's bits
// depend on its sequence only: not on the batch, nor on how its prompt was cut into steps.
// out = softmax(q kᵀ * scale) v * sigmoid(gate).
struct AttentionArgs {
  const BatchView* batch = nullptr;
  int32_t num_heads = 0;
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  float scale = 0.0F;
  const void* q = nullptr;     // [T, nh, hd] X, heads q_head_stride apart
  const void* gate = nullptr;  // as q
  int64_t q_stride = 0;
  int64_t q_head_stride = 0;
  const void* kv_cache = nullptr;
  void* out = nullptr;  // [T, nh * hd] X
  int64_t out_stride = 0;
};

}  // namespace deltaserve
