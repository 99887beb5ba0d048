// How much scratch the ops ask for in the largest step: taken when limits are reserved and counted
// in the memory plan, so that no step finds the device full. Each op's figure stands in its file
// and is what the op itself asks for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// Bytes; zero where a model of these limits has no such op, or none that takes scratch.
int64_t attention_scratch_bytes(const CudaContext& context, const StepLimits& limits);
int64_t delta_rule_scratch_bytes(const CudaContext& context, const StepLimits& limits);
int64_t moe_scratch_bytes(const CudaContext& context, const StepLimits& limits);
int64_t moe_one_meeting_bytes();  // of CudaContext::meeting, whatever the model

struct ScratchPlan {
  size_t bytes = 0;    // of CudaContext::scratch
  size_t zeros = 0;    // integers of CudaContext::zeros
  size_t meeting = 0;  // bytes of CudaContext::meeting
};

// Nothing for limits without a model.
ScratchPlan plan_scratch(const CudaContext& context, const StepLimits& limits);

// Device memory that the plan takes.
int64_t scratch_plan_bytes(const ScratchPlan& plan);

}  // namespace deltaserve
