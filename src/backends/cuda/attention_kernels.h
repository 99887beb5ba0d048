// The kernels behind attention.cu. Each takes the whole step and picks its rows on the device.
#pragma once

#include <cstddef>

#include "backends/cuda/cuda_context.h"
#include "ops/args.h"

namespace deltaserve::cuda {

// A warp a row and head, one key after the other: any head size up to 256 that is a multiple of 8,
// both dtypes, every sequence.
void launch_attention_plain(CudaContext& context, const AttentionArgs& args);

// Hopper, bfloat16, head size 256, at most 16 query heads a kv head: rows of recurrent sequences
// (attention_decode.cu) and of the others (attention_prefill.cu).
inline constexpr int32_t kTensorAttentionArch = 90;
inline constexpr int32_t kMaxDecodeGroup = 16;
// Whether they serve these heads there.
bool serves_tensor_attention(const CudaContext& context, int32_t num_heads, int32_t num_kv_heads,
                             int32_t head_dim);
// Scores are scaled by it too: the softmax is taken in base 2.
inline constexpr float kLog2E = 1.44269504F;
void launch_attention_decode(CudaContext& context, const AttentionArgs& args);
int64_t attention_decode_scratch_bytes(const StepLimits& limits);
void launch_attention_prefill(CudaContext& context, const AttentionArgs& args);

}  // namespace deltaserve::cuda
