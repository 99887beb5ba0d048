#include "backends/cuda/kernel_table.h"

#include <fmt/format.h>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {

std::vector<KernelInfo> cuda_kernel_table(const CudaContext& context) {
  const bool bf16 = context.compute_dtype == DType::kBF16;
  const std::string rows = fmt::format("rows of {}, float32 inside", bf16 ? "bf16" : "f32");
  const bool hopper = bf16 && context.device.arch == 90;
  const std::string matrix = bf16 ? "cuBLASLt bf16, float32 accumulation" : "cuBLASLt f32";
  return {
      {"embed", rows},
      {"linear", matrix + (hopper ? "; W streamed once: one row, mma up to 8, wgmma up to 32"
                           : bf16 ? "; W streamed once: one row, mma up to 16"
                                  : "")},
      {"gate_up_silu", hopper ? "few rows as linear; from 1,024 on wgmma, silu * up on the sums; "
                                "else cuBLASLt float32, then silu * up"
                              : matrix + ", then silu * up in float32"},
      {"moe", hopper ? "up to 128 tokens: mma, active experts streamed once; else grouped wgmma"
              : bf16 ? "up to 128 tokens: mma, active experts streamed once; else dot products"
                     : "dot products"},
      {"gated_delta_rule", delta_rule_kernels(context.device, context.compute_dtype)},
      {"attention", hopper
                        ? "heads of 256: wgmma for prompts, split KV for decode; else a warp a row"
                        : "a warp a row, float32"},
      {"causal_conv1d", rows},
      {"add_rms_norm", rows},
      {"qk_norm_rope", rows},
      {"gated_rms_norm", rows},
      {"delta_decode", "heads of 128: one kernel; else the ops"},
      {"write_kv", rows},
      {"moe_topk", "float32 softmax"},
      {"moe_block",
       bf16 ? "up to 4 tokens three launches, up to 128 six; else the ops, padded router"
            : "the ops"},
      {"linear_bias", matrix + ", then bias and activation in float32"},
      {"add_layer_norm", rows},
      {"add_positions", "float32"},
      {"vision_rope", rows},
      {"vision_attention", rows},
      {"sample", "float32, radix selection on the device"},
  };
}

Result<void> check_cuda_shape(const CudaContext&, const CacheShape& shape) {
  if (shape.num_v_heads > 0 && !serves_delta_rule(shape.dk, shape.dv)) {
    return invalid(fmt::format(
        "the CUDA backend has no Gated DeltaNet kernel for key heads of {} and value heads of {}: "
        "key heads go up to 256, both in steps of 4",
        shape.dk, shape.dv));
  }
  return {};
}

Result<void> check_cuda_vision_shape(const VisionShape& shape) {
  if (shape.head_dim % 4 != 0 || shape.head_dim > kMaxVisionHeadDim) {
    return invalid(
        fmt::format("the CUDA backend serves vision heads of a multiple of 4 up to {}, "
                    "not {}",
                    kMaxVisionHeadDim, shape.head_dim));
  }
  return {};
}

}  // namespace deltaserve
