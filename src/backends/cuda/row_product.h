// linear and gate_up_silu of one row of x in bfloat16, on any device (row_product.cu).
#pragma once

#include <optional>

#include "backends/cuda/cuda_context.h"
#include "ops/args.h"

namespace deltaserve {

// K is a multiple of 1,024.
bool serves_row(const CudaContext& context, int64_t M, int64_t K);
// Whether launch_row_linear reads whole rows: W is not so large that they cost (row_product.cu).
bool serves_whole_rows(const CudaContext& context, const LinearArgs& args);
void launch_row_linear(CudaContext& context, const LinearArgs& args);
void launch_row_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);
// linear_norm of one row; nothing if the shape is not for it.
std::optional<NormScale> launch_row_norm(CudaContext& context, const LinearNormArgs& args);

}  // namespace deltaserve
