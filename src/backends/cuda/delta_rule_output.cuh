// The output of a chunk on its way from the accumulators of a warpgroup to memory: through shared
// memory and a storer warp, which takes it away while the warpgroup goes on.
#pragma once

#include "backends/cuda/delta_rule_sequences.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// O of a warp: 16 value columns of 64 tokens, transposed, with a pitch that spreads the banks.
inline constexpr int kOutPitch = 48;
inline constexpr int kWarpOutBytes = kChunkSize * kOutPitch + 32;

// By a warp: O^T = y + z in accumulator layout to its part of shared memory.
__device__ __forceinline__ void put_output(const float* y, const float* z, uint32_t part) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t to = part + (lane % 8 + lane / 16 * 8) * kOutPitch + lane / 8 % 2 * 16;
#pragma unroll
  for (int j = 0; j < 32; j += 8) {
    store_tiles_transposed(to + j * 2 * kOutPitch, pack_bf16(y[j] + z[j], y[j + 1] + z[j + 1]),
                           pack_bf16(y[j + 2] + z[j + 2], y[j + 3] + z[j + 3]),
                           pack_bf16(y[j + 4] + z[j + 4], y[j + 5] + z[j + 5]),
                           pack_bf16(y[j + 6] + z[j + 6], y[j + 7] + z[j + 7]));
  }
}

// By the storer warp: 64 value columns, from `column` of a row of the output on, of the chunk's
// tokens; 16 bytes a lane, 4 tokens at a time. `parts`: those of the warpgroup's four warps.
__device__ __forceinline__ void take_output(const ChunkedRule& rule, const Chunk& chunk,
                                            int32_t column, const char* parts) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = lane / 2 % 4;  // whose columns
  const char* from = parts + warp * kWarpOutBytes + lane % 2 * 16;
  bf16* to = rule.out + int64_t{chunk.row} * rule.out_stride + column + warp * 16 + lane % 2 * 8;
  const auto store_row = [&](int row) {
    *reinterpret_cast<uint4*>(to + row * rule.out_stride) =
        *reinterpret_cast<const uint4*>(from + row * kOutPitch);
  };
  if (chunk.full()) {
#pragma unroll 8
    for (int i = 0; i < kChunkSize; i += 4) {
      store_row(i + lane / 8);
    }
    return;
  }
  for (int row = lane / 8; row < kChunkSize; row += 4) {
    if (row >= chunk.begin && row < chunk.end) {
      store_row(row);
    }
  }
}

}  // namespace deltaserve::cuda
