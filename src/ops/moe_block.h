// The separate ops that a block of experts is made of: the arguments of each, and all of them in
// turn.
#pragma once

#include "ops/args.h"
#include "ops/moe_args.h"

namespace deltaserve {

class Backend;

AddRmsNormArgs moe_norm_args(const MoeBlockArgs& block);
LinearArgs moe_router_args(const MoeBlockArgs& block);
MoeTopkArgs moe_topk_args(const MoeBlockArgs& block);
GateUpSiluArgs moe_shared_gate_up_args(const MoeBlockArgs& block);
LinearArgs moe_shared_down_args(const MoeBlockArgs& block);
// `out` [T, H] takes what the residual lacks behind the block.
MoeArgs moe_args(const MoeBlockArgs& block, float* out);

// For backends without moe_block. The residual gets `delta` only; `out`, which may be `delta`, the
// rest.
void run_moe_ops(Backend& backend, const MoeBlockArgs& block, float* out);

}  // namespace deltaserve
