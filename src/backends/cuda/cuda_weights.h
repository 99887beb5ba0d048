// Weights as they lie in device memory, in the compute dtype X. Rows are contiguous: [N][K].
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "ops/weights.h"

namespace deltaserve {

// Rows of a gate_up matrix come in groups of this size, gate and up in turn: gate rows 0..7, up
// rows 0..7, gate rows 8..15, ... so that a tile of 16 rows holds pairs that meet in one thread.
inline constexpr int64_t kGateUpGroup = 8;

// cuBLASLt multiplies by a matrix with an odd number of rows ten times as slowly as by one with a
// few zero rows more.
inline constexpr int64_t kRowMultiple = 8;

struct CudaLinear final : LinearWeight {
  CudaMemory values;  // [N rounded up to kRowMultiple][K] X, rows beyond N are zero
};

struct CudaGateUp final : GateUpWeight {
  CudaMemory values;  // [2 I rounded up to 16][K] X in groups, rows beyond I are zero
};

struct CudaExperts final : ExpertsWeight {
  CudaMemory gate_up;  // [E][2 I rounded up to 16][H] X, each expert in groups as above
  CudaMemory down;     // [E][H][I] X
};

struct CudaEmbedding final : EmbeddingWeight {
  CudaMemory values;  // [V][H] X
};

}  // namespace deltaserve
