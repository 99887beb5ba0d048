// The row-wise ops of the CPU backend and attention, each in the file of its name. Contracts:
// ops/args.h.
#pragma once

#include "backends/cpu/cpu_context.h"

namespace deltaserve {

void cpu_add_rms_norm(CpuContext& context, const AddRmsNormArgs& args);
void cpu_qk_norm_rope(CpuContext& context, const QkNormRopeArgs& args);
void cpu_write_kv(CpuContext& context, const WriteKvArgs& args);
void cpu_attention(CpuContext& context, const AttentionArgs& args);
void cpu_causal_conv1d(CpuContext& context, const CausalConv1dArgs& args);
void cpu_gated_rms_norm(CpuContext& context, const GatedRmsNormArgs& args);
void cpu_moe_topk(CpuContext& context, const MoeTopkArgs& args);
void cpu_sample(CpuContext& context, const SampleArgs& args);

// Errors: a head size that attention does not serve.
Result<void> check_cpu_attention_shape(const CacheShape& shape);

// Bytes of one KV block (kBlockSize tokens) of one layer.
int64_t cpu_kv_block_bytes(DType compute_dtype, const CacheShape& shape);

}  // namespace deltaserve
