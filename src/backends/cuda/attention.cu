// attention: which kernel serves it. On Hopper, with bfloat16 and heads of 256, the rows of
// recurrent sequences (decode, and the replay of decoded tokens) take the split form and all others
// the tiled form, whatever the number of rows, so that a row's bits depend on its own sequence
// only.
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/scratch_plan.h"

namespace deltaserve {

const char* cuda_attention_refuses(const CacheShape& shape) {
  if (shape.head_dim > cuda::kTensorHeadDim || shape.head_dim % cuda::kKvPiece != 0) {
    return "attention serves head sizes up to 256 that are multiples of 8";
  }
  return nullptr;
}

bool cuda::serves_tensor_attention(const CudaContext& context, int32_t num_heads,
                                   int32_t num_kv_heads, int32_t head_dim) {
  return context.device.arch == cuda::kTensorAttentionArch &&
         context.compute_dtype == DType::kBF16 && head_dim == cuda::kTensorHeadDim &&
         num_heads / num_kv_heads <= cuda::kMaxDecodeGroup;
}

int64_t attention_scratch_bytes(const CudaContext& context, const StepLimits& limits) {
  const ModelShape& model = limits.model;
  return model.num_kv_heads > 0 && cuda::serves_tensor_attention(context, model.num_heads,
                                                                 model.num_kv_heads, model.head_dim)
             ? cuda::attention_decode_scratch_bytes(limits)
             : 0;
}

void launch_attention(CudaContext& context, const AttentionArgs& args) {
  if (!cuda::serves_tensor_attention(context, args.num_heads, args.num_kv_heads, args.head_dim)) {
    cuda::launch_attention_plain(context, args);
    return;
  }
  const BatchView& batch = *args.batch;
  if (batch.num_chunked != batch.num_seqs) {
    cuda::launch_attention_decode(context, args);
  }
  if (batch.num_chunked != 0) {
    cuda::launch_attention_prefill(context, args);
  }
}

}  // namespace deltaserve
