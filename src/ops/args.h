// Argument structs of the ops, one per op: raw pointers to backend memory, shapes beside them, and
// scalars. X is the backend's compute dtype (float32 or bfloat16); strides count elements. The
// residual stream and everything that is added to it are float32 whatever X is.
// The maths is defined by the text beside each struct and by ops/reference.
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

// Depthwise causal convolution of width 4 over each sequence, then SiLU (float32 inside, rounded
// once). The state holds the last three inputs before this step and is updated to those after it.
struct CausalConv1dArgs {
  const BatchView* batch = nullptr;
  int64_t C = 0;
  const void* x = nullptr;  // [T, C] X
  int64_t x_stride = 0;
  const float* weight = nullptr;  // [C, 4]
  float* conv_state = nullptr;    // [slots, 3, C] oldest first
  void* out = nullptr;            // [T, C] X
  int64_t out_stride = 0;
};

// The gated delta rule with everything around it in float32: l2norm of q and k (eps 1e-6 inside the
// root), q scaled by dk^-0.5, beta = sigmoid(b), g = -exp(A_log) * softplus(a + dt_bias).
// Value head h uses key head h / (Hv / Hk). See spec: S = e^g S; S += k (beta (v - Sᵀ k))ᵀ; o = Sᵀ
// q.
struct GatedDeltaRuleArgs {
  const BatchView* batch = nullptr;
  int32_t num_k_heads = 0;  // Hk
  int32_t num_v_heads = 0;  // Hv
  int32_t dk = 0;
  int32_t dv = 0;
  const void* qkv = nullptr;  // [T, 2 Hk dk + Hv dv] X: q | k | v, after the convolution
  int64_t qkv_stride = 0;
  const void* b = nullptr;  // [T, Hv] X
  const void* a = nullptr;  // [T, Hv] X
  int64_t ba_stride = 0;
  const float* A_log = nullptr;    // [Hv]
  const float* dt_bias = nullptr;  // [Hv]
  float* state = nullptr;          // this layer's slots, recurrent_state_bytes each
  void* out = nullptr;             // [T, Hv, dv] X
  int64_t out_stride = 0;
};

struct GatedRmsNormArgs {  // out = w * rms(x) * silu(z) per head; weight is plain, not 1 + w
  int64_t T = 0;
  int32_t num_heads = 0;
  int32_t head_dim = 0;
  const void* x = nullptr;  // [T, heads, head_dim] X
  int64_t x_stride = 0;
  const void* z = nullptr;  // [T, heads, head_dim] X
  int64_t z_stride = 0;
  const float* weight = nullptr;  // [head_dim]
  float eps = 1e-6F;
  void* out = nullptr;  // [T, heads * head_dim] X
  int64_t out_stride = 0;
};

// Of a batch that is_decode(): causal_conv1d, gated_delta_rule of its output and gated_rms_norm of
// that, with the same bits. conv.out and rule.out are scratch. States are read before the ops in
// front have ended: none of the step may write them.
struct DeltaDecodeArgs {
  CausalConv1dArgs conv;
  GatedDeltaRuleArgs rule;
  GatedRmsNormArgs norm;
};

// softmax over E in float32, the K largest (ties: lower id first), renormalised to sum 1.
struct MoeTopkArgs {
  int64_t T = 0;
  int32_t E = 0;
  int32_t K = 0;
  const float* logits = nullptr;  // [T, E]
  int64_t logits_stride = 0;
  bool renormalize = true;
  int32_t* expert_ids = nullptr;  // [T, K] ascending id within a row
  float* weights = nullptr;       // [T, K] matching
};

// out[t] = sum_k weights[t,k] * down_e(silu(gate_e x) * up_e x), experts in ascending id, float32
// sum, plus sigmoid(shared_gate[t]) * shared[t]. The product that enters down_e is rounded to X, as
// gate_up_silu does.
struct MoeArgs {
  int64_t T = 0;
  int32_t K = 0;
  const void* x = nullptr;  // [T, H] X
  int64_t x_stride = 0;
  const ExpertsWeight* experts = nullptr;
  const int32_t* expert_ids = nullptr;  // [T, K]
  const float* weights = nullptr;       // [T, K]
  const float* shared = nullptr;        // [T, H] output of the shared expert
  const float* shared_gate = nullptr;   // [T], row stride shared_gate_stride; before the sigmoid
  int64_t shared_gate_stride = 0;
  float* out = nullptr;  // [T, H]
};

// A whole block of experts and the norm before it: x = rms_norm(residual += delta), then residual
// += what linear (router, float32 out), moe_topk, gate_up_silu and linear (the shared expert) and
// moe make of x. The buffers that these write are scratch.
struct MoeBlockArgs {
  int64_t T = 0;
  int64_t H = 0;
  int32_t K = 0;
  bool renormalize = true;
  float* residual = nullptr;           // [T, H]
  const float* delta = nullptr;        // [T, H] or null
  const float* norm_weight = nullptr;  // [H]
  float eps = 0.0F;
  const LinearWeight* router = nullptr;  // rows E experts | 1 gate of the shared expert
  const ExpertsWeight* experts = nullptr;
  const GateUpWeight* shared_gate_up = nullptr;
  const LinearWeight* shared_down = nullptr;
  void* x = nullptr;        // [T, H] X
  float* logits = nullptr;  // [T, logits_stride]
  int64_t logits_stride = 0;
  int32_t* expert_ids = nullptr;  // [T, K]
  float* weights = nullptr;       // [T, K]
  void* inner = nullptr;          // [T, inner_stride] X
  int64_t inner_stride = 0;
  float* shared = nullptr;  // [T, H]
};

}  // namespace deltaserve
