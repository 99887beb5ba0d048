// What a thread of rope_attention.cu reads before the kernel before it has ended: the step's
// arrays, weights of norms, and KV blocks.
#pragma once

#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/rope_attention_layout.cuh"

namespace deltaserve::cuda {

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
    __syncwarp();
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
