#include "ops/moe_block.h"

#include "ops/backend.h"

namespace deltaserve {

AddRmsNormArgs moe_norm_args(const MoeBlockArgs& block) {
  return {.T = block.T,
          .H = block.H,
          .residual = block.residual,
          .delta = block.delta,
          .weight = block.norm_weight,
          .eps = block.eps,
          .out = block.x};
}

LinearArgs moe_router_args(const MoeBlockArgs& block) {
  return {.M = block.T,
          .x = block.x,
          .x_stride = block.H,
          .weight = block.router,
          .out = block.logits,
          .out_stride = block.logits_stride,
          .out_float = true};
}

MoeTopkArgs moe_topk_args(const MoeBlockArgs& block) {
  return {.T = block.T,
          .E = static_cast<int32_t>(block.experts->E),
          .K = block.K,
          .logits = block.logits,
          .logits_stride = block.logits_stride,
          .renormalize = block.renormalize,
          .expert_ids = block.expert_ids,
          .weights = block.weights};
}

GateUpSiluArgs moe_shared_gate_up_args(const MoeBlockArgs& block) {
  return {.M = block.T,
          .x = block.x,
          .x_stride = block.H,
          .weight = block.shared_gate_up,
          .out = block.inner,
          .out_stride = block.inner_stride};
}

LinearArgs moe_shared_down_args(const MoeBlockArgs& block) {
  return {.M = block.T,
          .x = block.inner,
          .x_stride = block.inner_stride,
          .weight = block.shared_down,
          .out = block.shared,
          .out_stride = block.H,
          .out_float = true};
}

MoeArgs moe_args(const MoeBlockArgs& block, float* out) {
  return {.T = block.T,
          .K = block.K,
          .x = block.x,
          .x_stride = block.H,
          .experts = block.experts,
          .expert_ids = block.expert_ids,
          .weights = block.weights,
          .shared = block.shared,
          .shared_gate = block.logits + block.experts->E,
          .shared_gate_stride = block.logits_stride,
          .out = out};
}

void run_moe_ops(Backend& backend, const MoeBlockArgs& block, float* out) {
  backend.add_rms_norm(moe_norm_args(block));
  backend.linear(moe_router_args(block));
  backend.moe_topk(moe_topk_args(block));
  backend.gate_up_silu(moe_shared_gate_up_args(block));
  backend.linear(moe_shared_down_args(block));
  backend.moe(moe_args(block, out));
}

}  // namespace deltaserve
