// The parameters of rope_attention.cu, what its thread blocks have in shared memory, and how a
// row's KV blocks are divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/attention_block.cuh"
#include "backends/cuda/attention_merge.cuh"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/head_rope.cuh"

namespace deltaserve::cuda {

// Warps of a thread block, in pairs: warp w brings and scores KV blocks w, w + 8 .. of a split, and
// w and w + 4, which is to say one warp of attention_decode.cu, share the sums: half of the
// dimensions of V each.
inline constexpr int kRopeWarps = 2 * kDecodeWarps;
inline constexpr int kRopeThreads = kRopeWarps * kWarp;
inline constexpr int kPartDims16 = kHeadDim / 16 / 2;
static_assert(kRopeWarps == kMinSplitBlocks);  // the usual split is on its way as a whole
static_assert(kRopeWarps == kColumns);         // a query head a warp
// Of a query head in shared memory, padded so that the rows of 8 heads lie in different banks.
inline constexpr int kQueryWords = kHeadDim / 2 + 4;
// O^T that a thread has of a split, and that a block of the cluster merges.
inline constexpr int kThreadValues = kTileFloats / kRopeThreads;
template <int kCluster>
inline constexpr unsigned kSlice = kTileFloats / kCluster;

// The arguments of the three ops; strides in elements.
struct RopeAttentionParams {
  bf16* kv_cache;
  const int32_t* context_lens;
  const int32_t* block_tables;
  int32_t max_blocks;  // of a row of the tables
  int32_t num_kv_heads;
  int32_t group;  // query heads of a kv head
  int32_t rotary_half;
  const uint8_t* mrope_axis;
  const float* inv_freq;
  const int32_t* positions;  // [3][rows]
  const int32_t* slot_mapping;
  const float* q_weight;
  const float* k_weight;
  const bf16* q;
  const bf16* gate;
  const bf16* k;
  const bf16* v;
  bf16* out;
  int32_t q_stride;
  int32_t q_head_stride;
  int32_t k_stride;
  int32_t v_stride;
  int32_t out_stride;
  float attention_factor;
  float eps;
  float scale_log2;
  bool lets_next;
};

template <int kCluster>
struct RopeShared {
  alignas(128) std::byte blocks[kRopeWarps][2 * kHalfBytes];
  float sums[kDecodeWarps][1][kTileFloats];
  float largest[kDecodeWarps][1][kColumns];
  float totals[kDecodeWarps][1][kColumns];
  alignas(16) uint32_t query[kColumns][kQueryWords];  // bfloat16 pairs
  float4 scores[2][kRopeWarps][kWarp];                // of two steps in turn
  Rotation rotation;
  // Of every split, from the blocks that have them: this block's slice [dimension][8 heads], and
  // the heads' maxima and sums.
  float slices[kMaxSplits][kSlice<kCluster>];
  float2 states[kMaxSplits][kColumns];
  uint64_t landed[kRopeWarps];
  uint64_t received;
};

// The place of a row in its sequence and the division that follows from it.
struct RowSplits {
  int position;
  int num_blocks;
  int size;  // KV blocks of a split
  int splits;

  __device__ explicit RowSplits(int context)
      : position(context),
        num_blocks(static_cast<int>(static_cast<unsigned>(context) / kBlockSize) + 1),
        size(split_blocks(num_blocks)),
        splits(static_cast<int>(static_cast<unsigned>(num_blocks + size - 1) /
                                static_cast<unsigned>(size))) {}
  __device__ int end_of(int split) const { return min(num_blocks, (split + 1) * size); }
};

}  // namespace deltaserve::cuda
