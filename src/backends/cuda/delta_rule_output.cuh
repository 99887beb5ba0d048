// The output of a chunk on its way from the accumulators of a warpgroup to memory: through shared
// memory and a storer warp, which takes it away while the warpgroup goes on.
#pragma once

#include "backends/cuda/delta_rule_sequences.cuh"
#include "backends/cuda/delta_rule_state.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// O of a warp: 16 value columns of 64 tokens, transposed, with a pitch that spreads the banks.
inline constexpr int kOutPitch = 48;
inline constexpr int kWarpOutBytes = kChunkSize * kOutPitch + 32;

// By a warp: O^T = Y + Z in accumulator layout to its part of shared memory.
template <typename Operand>
__device__ __forceinline__ void put_output(const ChainRegisters<Operand>& x, uint32_t part) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t to = part + (lane % 8 + lane / 16 * 8) * kOutPitch + lane / 8 % 2 * 16;
#pragma unroll
  for (int j = 0; j < 32; j += 8) {
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float2 o = make_float2(x.XY[32 + j + 2 * i] + x.UZ[2 * j + 8 + 2 * i],
                             x.XY[33 + j + 2 * i] + x.UZ[2 * j + 9 + 2 * i]);
      if constexpr (kScaled<Operand>) {
        o.x *= inverse_scale(x.scale[i % 2]);
        o.y *= inverse_scale(x.scale[i % 2]);
      }
      words[i] = pack_bf16(o.x, o.y);
    }
    store_tiles_transposed(to + j * 2 * kOutPitch, words[0], words[1], words[2], words[3]);
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
