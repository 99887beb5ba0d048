// The work of the grouped products (moe_grouped.cu): 256 rows of an expert's matrix with the tokens
// of a cluster of two thread blocks, half of them each. A fixed number of clusters takes the items
// in turn, all rows of a tile of tokens one after the other.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve::cuda {

inline constexpr int kMoeCluster = 2;

struct GroupedParams {
  MoeSort sort;
  int32_t K;        // entries of a token
  int64_t rows;     // of an expert's matrix
  int64_t columns;  // of it
  const bf16* x;    // gate_up: [T][x_stride], of a token; down: [entries][x_stride], sorted
  int64_t x_stride;
  GroupedOut out;
};

// The tile of a block in one item of work: an item is 256 rows of an expert's matrix and the tokens
// of a cluster.
struct GroupedItem {
  int expert;
  int first_row;  // of the expert's matrix
  int first;      // place of the block's first token among the sorted entries
  int tokens;     // of the block, 0 too
};

// The items of a cluster, each read while the one before is worked on.
class GroupedItems {
 public:
  __device__ GroupedItems(const GroupedParams& params, int rank)
      : params_(params),
        rank_(rank),
        blocks_of_rows_((static_cast<int>(params.rows) + kMatrixRows - 1) / kMatrixRows),
        count_(*params.sort.num_tiles * blocks_of_rows_),
        at_(static_cast<int>(blockIdx.x) / kMoeCluster) {
    read();
  }
  __device__ bool more() const { return at_ < count_; }
  __device__ GroupedItem take() {
    const GroupedItem item = next_;
    at_ += static_cast<int>(gridDim.x) / kMoeCluster;
    read();
    return item;
  }

 private:
  __device__ void read() {
    if (at_ < count_) {
      const int tile = at_ / blocks_of_rows_;
      const int all = params_.sort.tile_rows[tile];
      const int half = (all + kMoeCluster - 1) / kMoeCluster;
      next_ = {.expert = params_.sort.tile_expert[tile],
               .first_row = at_ % blocks_of_rows_ * kMatrixRows,
               .first = params_.sort.tile_first[tile] + rank_ * half,
               .tokens = rank_ == 0 ? half : all - half};
    }
  }

  const GroupedParams& params_;
  const int rank_;
  const int blocks_of_rows_;
  const int count_;
  int at_;
  GroupedItem next_{};
};

}  // namespace deltaserve::cuda
