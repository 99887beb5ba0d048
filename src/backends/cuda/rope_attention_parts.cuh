// The parts of rope_attention.cu: its parameters, what a thread block has in shared memory, what it
// reads before the kernel before this one has ended, and its copies of KV blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/attention_block.cuh"
#include "backends/cuda/attention_merge.cuh"
#include "backends/cuda/attention_splits.cuh"
#include "backends/cuda/cluster.cuh"
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
inline constexpr int kSlice = kTileFloats / kCluster;

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

// What a thread reads of the step's arrays and of weights, all of it asked for at once, and where
// it will find the rest.
struct RowInputs {
  int context;
  int32_t first_block;  // where the warp's first lies, if splits are of kMinSplitBlocks
  int axis;             // of the angle that this thread makes
  float frequency;      // likewise
  int position;         // along axis `lane` % 3
  int slot;
  float q_factors[kDims];
  float k_factors[kDims];
  const bf16* q;  // this lane's dimensions of the warp's query head, of k and of v
  const bf16* k;
  const bf16* v;
  const bf16* gate;  // of this thread's place in the slice
  bf16* out;

  __device__ RowInputs(const RopeAttentionParams& params, int t, int kv_head, int slice_dims) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int rank = cluster_rank();
    context = params.context_lens[t];
    first_block = params.block_tables[t * params.max_blocks +
                                      min(rank * kMinSplitBlocks + warp, params.max_blocks - 1)];
    const int j = min(static_cast<int>(threadIdx.x), params.rotary_half - 1);
    axis = params.mrope_axis[j];
    frequency = params.inv_freq[j];
    position = params.positions[lane % 3 * static_cast<int>(gridDim.z) + t];
    slot = params.slot_mapping[t];
    load(params.q_weight + lane * kDims, q_factors);
    load(params.k_weight + lane * kDims, k_factors);
    // Places beyond the group get another head of it; nobody reads what comes of them.
    const int first = kv_head * params.group;
    q = params.q + t * params.q_stride +
        (first + min(warp, params.group - 1)) * params.q_head_stride + lane * kDims;
    const int kv_dim = kv_head * kHeadDim + lane * kDims;
    k = params.k + t * params.k_stride + kv_dim;
    v = params.v + t * params.v_stride + kv_dim;
    const int head = first + min(static_cast<int>(threadIdx.x) / slice_dims, params.group - 1);
    const int dim = rank * slice_dims + static_cast<int>(threadIdx.x) % slice_dims;
    gate = params.gate + t * params.q_stride + head * params.q_head_stride + dim;
    out = params.out + t * params.out_stride + head * kHeadDim + dim;
    // Now, not where they are used.
    asm volatile("" : "+l"(q), "+l"(k), "+l"(v), "+l"(gate), "+l"(out));
  }
};

// A warp's copies of the KV blocks that it scores, one at a time.
template <int kCluster>
class KvCopies {
 public:
  __device__ KvCopies(RopeShared<kCluster>& shared, const RopeAttentionParams& params, int t,
                      int kv_head)
      : from_(params.kv_cache + kv_head * kElements),
        stride_(params.num_kv_heads * kElements),
        table_(params.block_tables + t * params.max_blocks),
        to_(shared_address(shared.blocks[threadIdx.x / kWarp])),
        landed_(shared_address(&shared.landed[threadIdx.x / kWarp])) {
    if (threadIdx.x % kWarp == 0) {
      mbarrier_init(landed_, 1);
      mbarrier_init_fence();
    }
    __syncwarp();
  }

  // Asks for block `block` of the row. Block `known` lies at `place` of the cache.
  __device__ void start(int block, int known = -1, int32_t place = 0) {
    if (threadIdx.x % kWarp == 0) {
      const int64_t at = block == known ? place : table_[block];
      mbarrier_arrive_expect(landed_, 2 * kHalfBytes);
      bulk_load(to_, from_ + at * stride_, 2 * kHalfBytes, landed_);
    }
  }
  __device__ void wait() {
    mbarrier_wait(landed_, parity_);
    parity_ ^= 1U;
  }

 private:
  static constexpr int kElements = 2 * kBlockSize * kHeadDim;  // of a block and kv head

  const bf16* from_;
  int stride_;
  const int32_t* table_;
  uint32_t to_;
  uint32_t landed_;
  uint32_t parity_ = 0;
};

}  // namespace deltaserve::cuda
