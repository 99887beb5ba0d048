// Products in which a row's bits depend on that row only, whatever rows come with it
// (--batch-invariant): every result is one sum over K in one order, in all forms for all numbers of
// rows. On sm_90a a kernel of its own (fixed_product.cu), from 1,024 rows on that of
// wide_product.cu; on other devices pieces of few rows (skinny.cu); for the rest a plain kernel.
#pragma once

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/lt_matmul.h"
#include "ops/args.h"
#include "ops/vision_args.h"

namespace deltaserve {

// The product that linear is.
MatmulArgs matmul_args(const LinearArgs& args);

// By cuBLASLt, or where the context is batch invariant by launch_fixed_product.
void launch_matmul(CudaContext& context, const MatmulArgs& args);

// linear and gate_up_silu of a context that is batch invariant.
void launch_invariant_linear(CudaContext& context, const LinearArgs& args);
void launch_invariant_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);

// bfloat16 on sm_90a, rows of W and of x on borders of 16 bytes.
bool serves_fixed(const CudaContext& context, int64_t K, const void* x, int64_t x_stride);
void launch_fixed_product(CudaContext& context, const MatmulArgs& args);
void launch_fixed_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args);
void launch_fixed_bias(CudaContext& context, const LinearBiasArgs& args);

// Both dtypes, any shape: a warp a row of W (plain_product.cu).
void launch_plain_product(CudaContext& context, const MatmulArgs& args);

}  // namespace deltaserve
