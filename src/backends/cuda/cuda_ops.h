// One function an op: checks nothing (shapes were checked at load), launches on the context's
// stream and returns. Arguments are those of ops/args.h, in device memory; both compute dtypes.
// Each lives in a file of its name.
#pragma once

#include <optional>

#include "backends/cuda/cuda_context.h"
#include "ops/args.h"
#include "ops/delta_args.h"
#include "ops/moe_args.h"

namespace deltaserve {

void launch_embed(CudaContext& context, const EmbedArgs& args);
void launch_linear(CudaContext& context, const LinearArgs& args);
bool launch_add_linear(CudaContext& context, const LinearArgs& args);
std::optional<NormScale> launch_linear_norm(CudaContext& context, const LinearNormArgs& args);
void launch_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);
void launch_add_rms_norm(CudaContext& context, const AddRmsNormArgs& args);
bool launch_norm_linear(CudaContext& context, const AddRmsNormArgs& norm, const LinearArgs& args);
void launch_qk_norm_rope(CudaContext& context, const QkNormRopeArgs& args);
void launch_write_kv(CudaContext& context, const WriteKvArgs& args);
// Both, and attention, of a decode step of few sequences; false: it does not serve this.
bool launch_rope_attention(CudaContext& context, const QkNormRopeArgs& rotation,
                           const WriteKvArgs& writing, const AttentionArgs& args);
void launch_qk_norm_rope_write_kv(CudaContext& context, const QkNormRopeArgs& args,
                                  const WriteKvArgs& writing);
void launch_attention(CudaContext& context, const AttentionArgs& args);
void launch_causal_conv1d(CudaContext& context, const CausalConv1dArgs& args);
void launch_gated_delta_rule(CudaContext& context, const GatedDeltaRuleArgs& args);
void launch_gated_rms_norm(CudaContext& context, const GatedRmsNormArgs& args);
bool launch_delta_decode(CudaContext& context, const DeltaDecodeArgs& args);
void launch_moe_topk(CudaContext& context, const MoeTopkArgs& args);
void launch_moe(CudaContext& context, const MoeArgs& args);
bool launch_moe_block(CudaContext& context, const MoeBlockArgs& args);

// add_rms_norm whose next kernel may start beside it at once, or only when it ends.
void launch_add_rms_norm(CudaContext& context, const AddRmsNormArgs& args, bool beside);

// Matrices of few rows (bfloat16, M <= kMaxSkinnyRows or twice that where N is small, K a multiple
// of 64). `linear` and `gate_up_silu` call them where they say that they serve the shape.
inline constexpr int64_t kMaxSkinnyRows = 16;
bool serves_skinny(int64_t M, int64_t N, int64_t K);
void launch_skinny_linear(CudaContext& context, const LinearArgs& args);
void launch_skinny_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);

// The same on sm_90a for 9 to kMaxStreamedRows rows, where W [N, K] is large, K at least 512, and
// from 2 rows on where N and K are at least 5,120 (streamed_product.cu).
inline constexpr int64_t kMaxStreamedRows = 32;
bool serves_streamed(const CudaContext& context, int64_t M, int64_t N, int64_t K, const void* x,
                     int64_t x_stride);
void launch_streamed_linear(CudaContext& context, const LinearArgs& args);
void launch_streamed_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);
std::optional<NormScale> launch_streamed_norm(CudaContext& context, const LinearNormArgs& args);

// gate_up_silu by cuBLASLt in slices (gate_up_silu.cu): any number of rows, both dtypes.
void launch_sliced_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);

}  // namespace deltaserve
