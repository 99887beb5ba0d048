// Argument structs of the ops of a Gated DeltaNet layer, as in args.h.
#pragma once

#include <cstdint>

#include "ops/batch_view.h"

namespace deltaserve {

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

// Inside the root of the norms of q and k, as in the model's definition.
inline constexpr float kL2Eps = 1e-6F;

// The gated delta rule with everything around it in float32: l2norm of q and k with kL2Eps, q
// scaled by dk^-0.5, beta = sigmoid(b), g = -exp(A_log) * softplus(a + dt_bias). Value head h uses
// key head h / (Hv / Hk). See spec: S = e^g S; S += k (beta (v - Sᵀ k))ᵀ; o = Sᵀ q.
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

}  // namespace deltaserve
