// q, k and v of a chunk: from rows in memory to tiles in shared memory, by the copy engine in boxes
// of 64 x 64. In the first and last chunk of a sequence a box also holds rows of its neighbours,
// which are cleared before anybody sees them: 0 * NaN would carry a neighbour's NaN into this
// sequence.
#pragma once

#include "backends/cuda/delta_rule_sequences.cuh"
#include "backends/cuda/hopper.cuh"

namespace deltaserve::cuda {

// Rows outside [begin, end) of a tile become zero, by `threads` threads of number `thread`. The
// copy brought other sequences' rows there.
__device__ __forceinline__ void clear_rows(char* tile, const Chunk& chunk, int thread,
                                           int threads) {
  for (int i = thread; i < kTileBytes / 16; i += threads) {
    const int row = i / 8;
    if (row < chunk.begin || row >= chunk.end) {
      *reinterpret_cast<uint4*>(tile + i * 16) = make_uint4(0, 0, 0, 0);
    }
  }
}

// First columns of q | k | v that a block reads.
struct RowColumns {
  int32_t query = 0;
  int32_t key = 0;
  int32_t value = 0;

  __device__ RowColumns(const ChunkedRule& rule, int32_t head, int32_t key_head, int32_t column)
      : query(key_head * kDeltaDim),
        key((rule.num_k_heads + key_head) * kDeltaDim),
        value((2 * rule.num_k_heads + head) * kDeltaDim + column) {}
};

// Columns 0..63 of K, of Q, columns 64..127 of K, of Q, then 64 columns of V for each warpgroup.
template <int Groups>
inline constexpr int kRowTiles = 4 + Groups;

// Where a chunk's K and Q are: as rows of the tensor, or if `converted` is not null as the four
// tiles that the first kernel made of them.
struct RowSource {
  const CUtensorMap& qkv;
  RowColumns columns;
  const char* converted = nullptr;
};

template <int Groups>
__device__ __forceinline__ void load_tiles_of(const RowSource& from, int32_t row, uint32_t to,
                                              uint32_t barrier) {
  if (from.converted != nullptr) {
    bulk_load(to, from.converted, kConvertedBytes, barrier);
  } else {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t tile = to + half * 2 * kTileBytes;
      tensor_load(tile, from.qkv, from.columns.key + half * 64, row, barrier);
      tensor_load(tile + kTileBytes, from.qkv, from.columns.query + half * 64, row, barrier);
    }
  }
#pragma unroll
  for (int group = 0; group < Groups; ++group) {
    tensor_load(to + (4 + group) * kTileBytes, from.qkv, from.columns.value + group * 64, row,
                barrier);
  }
}

// What a warp that fills a ring of tiles needs for chunks that are not full: a barrier of its own
// and how often it was used.
struct PartialLoads {
  uint32_t barrier = 0;
  uint32_t count = 0;
};

// By a whole warp: a chunk's rows to `tiles`. Arrives at `full`, once for the warp, which then also
// waits for `more_bytes` that the caller copies.
template <int Groups>
__device__ __forceinline__ void load_chunk(const RowSource& from, const Chunk& chunk, char* tiles,
                                           uint32_t full, uint32_t more_bytes,
                                           PartialLoads& partial) {
  constexpr uint32_t kRowBytes = kRowTiles<Groups> * kTileBytes;
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const uint32_t to = shared_address(tiles);
  if (chunk.full()) {
    if (lane == 0) {
      mbarrier_arrive_expect(full, kRowBytes + more_bytes);
      load_tiles_of<Groups>(from, chunk.row, to, full);
    }
    return;
  }
  if (lane == 0) {
    mbarrier_arrive_expect(partial.barrier, kRowBytes);
    load_tiles_of<Groups>(from, chunk.row, to, partial.barrier);
  }
  mbarrier_wait(partial.barrier, partial.count++ & 1);
  for (int tile = 0; tile < kRowTiles<Groups>; ++tile) {
    clear_rows(tiles + tile * kTileBytes, chunk, lane, kWarp);
  }
  async_proxy_fence();
  __syncwarp();
  if (lane == 0) {
    mbarrier_arrive_expect(full, more_bytes);
  }
}

}  // namespace deltaserve::cuda
