// The vision tower's ops, as cuda_ops.h has the others: arguments of ops/vision_args.h in device
// memory, both compute dtypes.
#pragma once

#include "backends/cuda/cuda_context.h"
#include "ops/vision_args.h"

namespace deltaserve {

// Head sizes up to this are served, multiples of 4.
inline constexpr int32_t kMaxVisionHeadDim = 128;

void launch_linear_bias(CudaContext& context, const LinearBiasArgs& args);
void launch_add_layer_norm(CudaContext& context, const AddLayerNormArgs& args);
void launch_add_positions(CudaContext& context, const AddPositionsArgs& args);
void launch_vision_rope(CudaContext& context, const VisionRopeArgs& args);
void launch_vision_attention(CudaContext& context, const VisionAttentionArgs& args);

// Attention of bfloat16 on tensor cores, for heads and rows that lie on 16-byte borders.
bool serves_vision_tiles(const VisionAttentionArgs& args);
void launch_vision_tiles(const CudaContext& context, const VisionAttentionArgs& args);

// The same on sm_90a by wgmma, heads of up to 80 (vision_attention_wgmma.cu); preferred.
bool serves_vision_wgmma(const CudaContext& context, const VisionAttentionArgs& args);
void launch_vision_wgmma(const CudaContext& context, const VisionAttentionArgs& args);

}  // namespace deltaserve
