// How T' and R of a chunk lie between the kernels of the chunked delta rule. Both are zero above
// their diagonal, so scratch holds only the ten blocks of 16 x 16 of each on and below it: for each
// step of 16 columns, which is one instruction of the matrix unit, the blocks of T' and R in turn
// from the diagonal down. In shared memory a step has all 128 rows; what is above the diagonal is
// zero from the start. A block is stored transposed, as the first kernel has it in accumulators:
// four times eight columns of eight rows, 16 bytes each, plain.
#pragma once

#include <cstdint>

#include "backends/cuda/delta_rule_chunks.cuh"
#include "backends/cuda/hopper.cuh"

namespace deltaserve::cuda {

inline constexpr int kSteps = kChunkSize / 16;
inline constexpr int kBlockBytes = 16 * 16 * 2;
inline constexpr int kPairBytes = 2 * kBlockBytes;       // of T' and of R
inline constexpr int kStepBytes = kSteps * kPairBytes;   // in shared memory
inline constexpr int kSolvedTile = kSteps * kStepBytes;  // all steps there

// Where in scratch the blocks of a step begin.
__host__ __device__ constexpr int solved_step(int step) {
  return step * kStepBytes - step * (step - 1) / 2 * kPairBytes;
}
static_assert(solved_step(kSteps) == kSolvedBytes);

// Where in scratch block (row, column) of T' is, row >= column; R's follows it.
__host__ __device__ constexpr int solved_block(int row, int column) {
  return solved_step(column) + (row - column) * kPairBytes;
}

// A step in shared memory as an operand of 128 rows along N.
__device__ __forceinline__ uint64_t solved_operand(uint32_t address) {
  constexpr uint64_t kNextColumns = kBlockBytes / 4;  // the other eight of the 16
  constexpr uint64_t kNextRows = kBlockBytes / 2;     // the next eight
  return static_cast<uint64_t>((address & 0x3ffffU) >> 4) | (kNextColumns >> 4) << 16 |
         (kNextRows >> 4) << 32;
}

// Blocks above the diagonal become zero, once for all chunks; by `threads` threads.
__device__ __forceinline__ void clear_solved(char* tile, int thread, int threads) {
#pragma unroll
  for (int step = 1; step < kSteps; ++step) {
    for (int i = thread; i < step * kPairBytes / 16; i += threads) {
      *reinterpret_cast<uint4*>(tile + step * kStepBytes + i * 16) = make_uint4(0, 0, 0, 0);
    }
  }
}

// From scratch to shared memory; `full` counts kSolvedBytes.
__device__ __forceinline__ void load_solved(char* tile, const char* from, uint32_t full) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    bulk_load(shared_address(tile + step * kStepBytes + step * kPairBytes),
              from + solved_step(step), (kSteps - step) * kPairBytes, full);
  }
}

}  // namespace deltaserve::cuda
