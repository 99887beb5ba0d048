// How the prompt rows of a step become tiles of attention_prefill.cu: packed row i of a sequence
// and kv head is query head i % group of token i / group, so that the heads that share keys lie
// together and short prompts fill tiles.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/kv_layout.h"
#include "ops/args.h"

namespace deltaserve::cuda {

inline constexpr int kRowTile = 128;   // packed rows of a thread block
inline constexpr int kGroupRows = 64;  // of which a warpgroup takes half
inline constexpr int kGroupThreads = 128;

// Where a thread block works.
struct RowTile {
  int sequence;
  int rows;     // packed rows of the sequence
  int context;  // tokens before its first
  int first;    // packed row of the sequence
};

// The tile of this number, the last tiles (which see most keys) first; false if there is none.
__device__ __forceinline__ bool find_tile(const BatchView& batch, int group, int index,
                                          RowTile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto rows_of = [&](int s) {
    return s < batch.num_seqs && batch.recurrent[s] == 0
               ? (batch.cu_seqlens[s + 1] - batch.cu_seqlens[s]) * group
               : 0;
  };
  int total = 0;
  for (int s = lane; s - lane < batch.num_seqs; s += kWarp) {
    total += __reduce_add_sync(kAllLanes, (rows_of(s) + kRowTile - 1) / kRowTile);
  }
  index = total - 1 - index;
  if (index < 0) {
    return false;
  }
  for (int s = lane;; s += kWarp) {
    const int rows = rows_of(s);
    const int count = (rows + kRowTile - 1) / kRowTile;
    int end = count;
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const int below = __shfl_up_sync(kAllLanes, end, offset);
      end += lane >= offset ? below : 0;
    }
    const unsigned after = __ballot_sync(kAllLanes, end > index);
    if (after != 0) {
      const int from = __ffs(static_cast<int>(after)) - 1;
      tile.sequence = s - lane + from;
      tile.rows = __shfl_sync(kAllLanes, rows, from);
      tile.context = batch.context_lens[tile.sequence];
      tile.first = (index - __shfl_sync(kAllLanes, end - count, from)) * kRowTile;
      return true;
    }
    index -= __shfl_sync(kAllLanes, end, kWarp - 1);
  }
}

// The rows of a warpgroup: packed row `first` + i is query head i % group of token i / group.
struct GroupRows {
  const AttentionArgs& args;
  int64_t first_token;  // of the sequence, in the batch
  int group;
  int kv_head;
  int first;
  int rows;  // that exist, 0 to 64

  // Element of q or gate where row i begins.
  __device__ int64_t query_index(int i) const {
    return (first_token + (first + i) / group) * args.q_stride +
           (int64_t{kv_head} * group + (first + i) % group) * args.q_head_stride;
  }
  __device__ int64_t out_index(int i) const {
    return (first_token + (first + i) / group) * args.out_stride +
           (int64_t{kv_head} * group + (first + i) % group) * kTensorHeadDim;
  }
};

// Byte of a 16-byte piece of a row in a warpgroup's [4][64][128 bytes], swizzled.
__device__ __forceinline__ int row_piece(int row, int piece) {
  return piece / 8 * kGroupRows * 128 + row * 128 + ((piece % 8) ^ (row % 8)) * 16;
}

// Brings rows of q or gate to shared memory; rows that do not exist are zero.
__device__ __forceinline__ void load_rows(std::byte* to, const void* from, const GroupRows& rows) {
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  constexpr int kPieces = kTensorHeadDim / 8;
  constexpr int kInFlight = 8;  // loads of a thread before it stores
#pragma unroll 1
  for (int i = thread; i < kGroupRows * kPieces; i += kInFlight * kGroupThreads) {
    uint4 pieces[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int row = (i + j * kGroupThreads) / kPieces;
      pieces[j] = make_uint4(0, 0, 0, 0);
      if (row < rows.rows) {
        pieces[j] = *reinterpret_cast<const uint4*>(static_cast<const bf16*>(from) +
                                                    rows.query_index(row) + i % kPieces * 8);
      }
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const int row = (i + j * kGroupThreads) / kPieces;
      *reinterpret_cast<uint4*>(to + row_piece(row, i % kPieces)) = pieces[j];
    }
  }
}

}  // namespace deltaserve::cuda
