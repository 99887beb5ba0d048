#include "backends/cuda/scratch_plan.h"

#include <algorithm>

#include "backends/cuda/sample_kernels.h"
#include "backends/cuda/sliced_product.h"

namespace deltaserve {
namespace {

// Integers that are zero: 1 MiB, the least that is taken, holds those of each multiprocessor and
// each kv head. A decode step counts for each sequence and key head.
constexpr int64_t kLeastZeros = int64_t{1} << 18;

}  // namespace

ScratchPlan plan_scratch(const CudaContext& context, const StepLimits& limits) {
  const ModelShape& model = limits.model;
  if (model.hidden_size == 0) {
    return {};
  }
  const int64_t rows = std::max(limits.max_tokens, limits.max_vision_rows);
  const int64_t bytes =
      std::max({attention_scratch_bytes(context, limits), delta_rule_scratch_bytes(context, limits),
                moe_scratch_bytes(context, limits), adjusted_logits_bytes(model.vocab_size),
                cuda::slice_bytes(rows)});
  const int64_t zeros = std::max(kLeastZeros, limits.max_seqs * model.num_k_heads);
  return {.bytes = static_cast<size_t>(bytes),
          .zeros = static_cast<size_t>(zeros),
          .meeting = static_cast<size_t>(moe_one_meeting_bytes())};
}

int64_t scratch_plan_bytes(const ScratchPlan& plan) {
  return static_cast<int64_t>(CudaContext::scratch_size(plan.bytes) +
                              CudaContext::scratch_size(plan.zeros * sizeof(int32_t)) +
                              CudaContext::scratch_size(plan.meeting));
}

}  // namespace deltaserve
