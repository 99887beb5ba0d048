// The table's entries that every instruction set fills from the code over Vec.
#pragma once

#include "backends/cpu/isa/ceiling_impl.h"
#include "backends/cpu/isa/delta_impl.h"
#include "backends/cpu/isa/gemm_impl.h"
#include "backends/cpu/isa/tile_impl.h"
#include "backends/cpu/isa/vector_impl.h"

namespace deltaserve {
namespace {

// The matrix names say how a bfloat16 panel meets the activations.
constexpr CpuKernels vec_kernels(const char* name, const char* bf16, const char* f32_bf16,
                                 const char* f32) {
  CpuKernels table;
  table.name = name;
  table.max_rows = kMaxRows;
  table.bf16 = {pack_pairs_f32<uint16_t>, multiply_f32_bf16_tile<kMaxRows>, 4, bf16};
  table.f32_bf16 = {pack_pairs_f32<float>, multiply_f32_bf16_tile<kMaxRows>, 4, f32_bf16};
  table.f32 = {pack_f32, multiply_f32_tile<kMaxRows>, 4, f32};
  table.store_bf16 = store_tile_bf16;
  table.store_f32 = store_tile_f32;
  table.silu_mul = silu_mul_tile;
  table.multiply_strided = multiply_strided_tile<kMaxRows>;
  table.delta_rule_step = delta_rule_step;
  table.scale_rows = scale_rows;
  table.delta_residual = delta_residual;
  table.solve_block = solve_block;
  table.exp = exp_all;
  table.dot = dot_all;
  table.scale = scale_all;
  table.axpy = axpy_all;
  table.widen = widen_all;
  table.narrow = narrow_all;
  table.run_fma = run_fma;
  table.run_bf16 = run_fma;  // widened bfloat16 goes through the same unit
  table.fma_flop = 2 * kLanes * kChains;
  table.bf16_flop = table.fma_flop;
  table.read_memory = read_memory;
  return table;
}

}  // namespace
}  // namespace deltaserve
