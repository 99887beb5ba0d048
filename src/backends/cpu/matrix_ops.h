// The ops of the CPU backend that stream weights or the recurrent state, each in the file of its
// name, and the makers of their weights. Contracts: ops/args.h and ops/backend.h.
#pragma once

#include <memory>
#include <span>

#include "backends/cpu/cpu_context.h"

namespace deltaserve {

Result<std::unique_ptr<LinearWeight>> make_cpu_linear(CpuContext& context,
                                                      std::span<const TensorView> parts);
Result<std::unique_ptr<GateUpWeight>> make_cpu_gate_up(CpuContext& context, const TensorView& gate,
                                                       const TensorView& up);
Result<std::unique_ptr<ExpertsWeight>> make_cpu_experts(CpuContext& context,
                                                        std::span<const TensorView> gate,
                                                        std::span<const TensorView> up,
                                                        std::span<const TensorView> down);
Result<std::unique_ptr<EmbeddingWeight>> make_cpu_embedding(const TensorView& table);

void cpu_embed(CpuContext& context, const EmbedArgs& args);
void cpu_linear(CpuContext& context, const LinearArgs& args);
void cpu_gate_up_silu(CpuContext& context, const GateUpSiluArgs& args);
void cpu_gated_delta_rule(CpuContext& context, const GatedDeltaRuleArgs& args);
void cpu_moe(CpuContext& context, const MoeArgs& args);

// Bytes of one layer's recurrent state: [Hv][dv / 32][dk][32] float32, dv padded to 32.
int64_t cpu_recurrent_state_bytes(const CacheShape& shape);

}  // namespace deltaserve
