// The ops of the reference backend, one file each, and how they read and write activations. An
// activation buffer holds X (float32 or bfloat16); maths is float32, and the sum of a dot product
// is double so that a comparison with a kernel shows the kernel's error only.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/args.h"
#include "ops/delta_args.h"
#include "ops/moe_args.h"
#include "ops/sampling.h"
#include "ops/vision_args.h"
#include "tensor/dtype.h"

namespace deltaserve::reference {

// Element i of a buffer of X (kF32 or kBF16).
inline float load(DType x_dtype, const void* data, int64_t i) {
  return x_dtype == DType::kF32 ? static_cast<const float*>(data)[i]
                                : to_float(static_cast<const BFloat16*>(data)[i]);
}

inline void store(DType x_dtype, void* data, int64_t i, float value) {
  if (x_dtype == DType::kF32) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<BFloat16*>(data)[i] = to_bfloat16(value);
  }
}

// `value` as a buffer of X would hold it.
inline float round_to(DType x_dtype, float value) {
  return x_dtype == DType::kF32 ? value : to_float(to_bfloat16(value));
}

float sigmoid(float x);
float silu(float x);

// 1 / sqrt(mean(x²) + eps) of n elements.
float inverse_rms(const float* x, int64_t n, float eps);

// `count` elements of a buffer of X from index `first`.
std::vector<float> load_row(DType x_dtype, const void* data, int64_t first, int64_t count);

// Index in the KV cache of element 0 of one head of the token at `slot`; `value`: of V, not of K.
int64_t kv_index(int64_t slot, bool value, int64_t head, int64_t num_kv_heads, int64_t head_dim);

// out[n] = sum over k of x[k] * weight[k * N + n], k ascending.
void vector_times_matrix(const float* x, const float* weight, int64_t K, int64_t N, float* out);

void embed(const EmbedArgs& args);
void linear(DType x_dtype, const LinearArgs& args);
void gate_up_silu(DType x_dtype, const GateUpSiluArgs& args);
void add_rms_norm(DType x_dtype, const AddRmsNormArgs& args);
void qk_norm_rope(DType x_dtype, const QkNormRopeArgs& args);
void write_kv(DType x_dtype, const WriteKvArgs& args);
void attention(DType x_dtype, const AttentionArgs& args);
void causal_conv1d(DType x_dtype, const CausalConv1dArgs& args);
void gated_delta_rule(DType x_dtype, const GatedDeltaRuleArgs& args);
void gated_rms_norm(DType x_dtype, const GatedRmsNormArgs& args);
void moe_topk(const MoeTopkArgs& args);
void moe(DType x_dtype, const MoeArgs& args);
void linear_bias(DType x_dtype, const LinearBiasArgs& args);
void add_layer_norm(DType x_dtype, const AddLayerNormArgs& args);
void add_positions(const AddPositionsArgs& args);
void vision_rope(DType x_dtype, const VisionRopeArgs& args);
void vision_attention(DType x_dtype, const VisionAttentionArgs& args);
void sample(const SampleArgs& args);

}  // namespace deltaserve::reference
