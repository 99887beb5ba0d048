#include "backends/cuda/kernel_table.h"

#include <fmt/format.h>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/vision_ops.h"

namespace deltaserve {
namespace {

bool has_hopper_kernels(const CudaContext& context) {
  return context.compute_dtype == DType::kBF16 && context.device.arch == 90;
}

// The product of any number of rows: `library`, unless a row's bits must not depend on it.
std::string invariant_product(const CudaContext& context, const std::string& library) {
  if (!context.batch_invariant) return library;
  return has_hopper_kernels(context) ? "batch invariant: wgmma, K in one chain"
                                     : "batch invariant: dot products";
}

std::string linear_kernels(const CudaContext& context, const std::string& library) {
  const bool bf16 = context.compute_dtype == DType::kBF16;
  if (has_hopper_kernels(context)) {
    return context.batch_invariant
               ? invariant_product(context, library)
               : library +
                     "; W streamed once: one row, mma up to 8 (N or K < 5,120), wgmma up to 32";
  }
  if (bf16 && context.batch_invariant) return "batch invariant: mma, 16 rows at a time";
  return bf16 ? library + "; W streamed once: one row, mma up to 16"
              : invariant_product(context, library);
}

std::string gate_up_kernels(const CudaContext& context, const std::string& library) {
  if (!has_hopper_kernels(context)) {
    return linear_kernels(context, library) + ", then silu * up in float32";
  }
  return context.batch_invariant
             ? invariant_product(context, library) + ", silu * up on the sums"
             : "few rows as linear; from 1,024 on wgmma, silu * up on the sums; else cuBLASLt "
               "float32, then silu * up";
}

std::string norm_product_kernels(const CudaContext& context) {
  if (context.compute_dtype != DType::kBF16 || context.batch_invariant) return "the ops";
  return std::string(has_hopper_kernels(context)
                         ? "one row, 9 to 32 rows, from 2 where N and K are 5,120 or more"
                         : "one row") +
         ": the scale behind the next product; else the ops";
}

std::string moe_kernels(const CudaContext& context) {
  const bool hopper = has_hopper_kernels(context);
  if (context.batch_invariant) {
    return hopper ? "batch invariant: grouped wgmma" : "batch invariant: dot products";
  }
  if (context.compute_dtype != DType::kBF16) return "dot products";
  return std::string("up to 128 tokens: mma, active experts streamed once; else ") +
         (hopper ? "grouped wgmma" : "dot products");
}

std::string vision_attention_kernels(const CudaContext& context) {
  if (context.compute_dtype != DType::kBF16) return "dot products, float32";
  return has_hopper_kernels(context) ? "heads of up to 80: wgmma; else mma" : "mma";
}

std::string moe_block_kernels(const CudaContext& context) {
  if (context.compute_dtype != DType::kBF16) return "the ops";
  if (context.batch_invariant) {
    return has_hopper_kernels(context) ? "the ops, padded router" : "the ops";
  }
  return "one token of width 2,048 one launch, up to 4 three, up to 128 six; else the ops, padded "
         "router";
}

}  // namespace

std::vector<KernelInfo> cuda_kernel_table(const CudaContext& context) {
  const bool bf16 = context.compute_dtype == DType::kBF16;
  const std::string rows = fmt::format("rows of {}, float32 inside", bf16 ? "bf16" : "f32");
  const bool hopper = has_hopper_kernels(context);
  const std::string matrix = bf16 ? "cuBLASLt bf16, float32 accumulation" : "cuBLASLt f32";
  return {
      {"embed", rows},
      {"linear", linear_kernels(context, matrix)},
      {"gate_up_silu", gate_up_kernels(context, matrix)},
      {"linear_norm", norm_product_kernels(context)},
      {"moe", moe_kernels(context)},
      {"gated_delta_rule", delta_rule_kernels(context)},
      {"attention", hopper
                        ? "heads of 256: wgmma for prompts, split KV for decode; else a warp a row"
                        : "a warp a row, float32"},
      {"causal_conv1d", rows},
      {"add_rms_norm", rows},
      {"norm_linear", bf16 ? "one row of 2,048: one kernel; else the ops" : "the ops"},
      {"qk_norm_rope", rows},
      {"qk_norm_rope_write_kv", rows},
      {"rope_attention",
       hopper ? "heads of 256, decode of few sequences: a cluster a head; else the ops"
              : "the ops"},
      {"gated_rms_norm", rows},
      {"delta_decode", "heads of 128: one kernel; else the ops"},
      {"write_kv", rows},
      {"moe_topk", "float32 softmax"},
      {"moe_block", moe_block_kernels(context)},
      {"linear_bias",
       hopper ? "wgmma, bias and activation on the sums"
              : invariant_product(context, matrix) + ", then bias and activation in float32"},
      {"add_layer_norm", rows},
      {"add_positions", "float32"},
      {"vision_rope", rows},
      {"vision_attention", vision_attention_kernels(context)},
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
