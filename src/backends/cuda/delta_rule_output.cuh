// The output of a chunk on its way from the accumulators of a warpgroup to memory: through a tile
// in shared memory and the copy engine, which takes it away while the warpgroup goes on.
#pragma once

#include "backends/cuda/delta_rule_sequences.cuh"
#include "backends/cuda/delta_rule_state.cuh"
#include "backends/cuda/mma.cuh"

namespace deltaserve::cuda {

// By a warp: its 16 columns of O = (Y + Z)^T, from accumulator layout to the warpgroup's tile of 64
// tokens x 64 value columns.
template <typename Operand>
__device__ __forceinline__ void put_output(const ChainRegisters<Operand>& x, uint32_t tile) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int warp = static_cast<int>(threadIdx.x / kWarp % 4);
  const uint32_t to =
      tile + static_cast<uint32_t>(swizzled(lane % 8 + lane / 16 * 8, warp * 2 + lane / 8 % 2));
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
    store_tiles_transposed(to + j * 2 * 128, words[0], words[1], words[2], words[3]);
  }
}

// Copies a box of shared memory to the tensor at (column, row) and waits until it is read.
__device__ __forceinline__ void tensor_store(const CUtensorMap& map, int32_t column, int32_t row,
                                             uint32_t from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
      "r"(column), "r"(row), "r"(from)
      : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

// By the storer warp: the tile to columns `column` .. of the output's rows, those that the sequence
// has in the chunk. `out`: the output in boxes of a tile.
__device__ __forceinline__ void take_output(const CUtensorMap& out, const ChunkedRule& rule,
                                            const Chunk& chunk, int32_t column, const char* tile) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  if (chunk.full()) {
    if (lane == 0) {
      tensor_store(out, column, chunk.row, shared_address(tile));
    }
    return;
  }
  bf16* to = rule.out + int64_t{chunk.row} * rule.out_stride + column + lane % 8 * 8;
  for (int row = lane / 8; row < kChunkSize; row += 4) {
    if (row >= chunk.begin && row < chunk.end) {
      *reinterpret_cast<uint4*>(to + row * rule.out_stride) =
          *reinterpret_cast<const uint4*>(tile + swizzled(row, lane % 8));
    }
  }
}

}  // namespace deltaserve::cuda
