// linear and gate_up_silu of many rows of x in bfloat16 on sm_90a (wide_product.cu).
#pragma once

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/lt_matmul.h"
#include "ops/args.h"

namespace deltaserve {

bool serves_wide(const CudaContext& context, const MatmulArgs& args);
void launch_wide_product(const CudaContext& context, const MatmulArgs& args);
bool serves_wide_gate_up(const CudaContext& context, const GateUpSiluArgs& args);
void launch_wide_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);

}  // namespace deltaserve
