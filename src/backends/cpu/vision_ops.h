// The ops of the vision tower on the CPU backend, each in the file of its name. Contracts:
// ops/vision_args.h.
#pragma once

#include "backends/cpu/cpu_context.h"

namespace deltaserve {

void cpu_linear_bias(CpuContext& context, const LinearBiasArgs& args);
void cpu_add_layer_norm(CpuContext& context, const AddLayerNormArgs& args);
void cpu_add_positions(CpuContext& context, const AddPositionsArgs& args);
void cpu_vision_rope(CpuContext& context, const VisionRopeArgs& args);
void cpu_vision_attention(CpuContext& context, const VisionAttentionArgs& args);

// The most shared scratch that attention takes at these limits.
int64_t cpu_vision_scratch_bytes(DType x_dtype, const StepLimits& limits);

// Errors: a head size that vision_rope does not serve.
Result<void> check_cpu_vision_shape(const VisionShape& shape);

}  // namespace deltaserve
