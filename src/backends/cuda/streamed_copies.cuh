// The copying side of a streamed product's thread block (streamed_product.cu): the order in which
// tiles of W and x are asked for.
#pragma once

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/streamed_ring.cuh"

namespace deltaserve::cuda {

// The ring's side of a thread block: one thread starts all copies. Short code: until W has been
// asked for the memory that instructions come from is busy with another product's. Columns behind
// K's end read as zero.
template <int kTokens, int kPieces>
class StreamCopies {
 public:
  __device__ __forceinline__ StreamCopies(const StreamRing<kTokens, kPieces>& ring,
                                          const CUtensorMap& weight, const CUtensorMap& x,
                                          const StreamParams& params)
      : ring_(ring),
        weight_(weight),
        x_(x),
        params_(params),
        share_(params),
        count_(share_.stages(params)),
        first_(min(count_, params.stages)) {}

  // Makes the barriers of the ring, and `received`, and asks for W of the first stages.
  __device__ __forceinline__ void begin(uint32_t received) {
    mbarrier_init(received, 1);
#pragma unroll 1
    for (int i = 0; i < params_.stages; ++i) {
      mbarrier_init(ring_.full + 8 * i, 1);
      mbarrier_init(ring_.empty + 8 * i, kStreamConsumers / kWarp);
    }
    mbarrier_init_fence();
    Next next = start();
#pragma unroll 1
    for (int i = 0; i < first_; ++i) {
      load_weight(next, i);
      advance(next);
    }
  }

  // The rest, once that of the first stages of x can be read.
  __device__ __forceinline__ void run() {
    Next next = start();
#pragma unroll 1
    for (int i = 0; i < first_; ++i) {
      load_x(next, i);
      advance(next);
    }
    RingPlace place;
#pragma unroll 1
    for (int i = first_; i < count_; ++i) {
      mbarrier_wait(ring_.empty + 8 * place.stage, place.parity);
      load_weight(next, place.stage);
      load_x(next, place.stage);
      advance(next);
      place.advance(params_.stages);
    }
  }

 private:
  // What comes next: a row of W, and the stage of K of this block's.
  struct Next {
    int row;
    int k;
  };

  __device__ __forceinline__ Next start() const {
    return {.row = share_.first * params_.bands.rows, .k = 0};
  }
  __device__ __forceinline__ void advance(Next& next) const {
    if (++next.k == share_.k_count) {
      next.k = 0;
      next.row += share_.step * params_.bands.rows;
    }
  }
  __device__ __forceinline__ int column(const Next& next, int piece) const {
    return ((share_.k_begin + next.k) * kPieces + piece) * kStreamPiece;
  }

  __device__ __forceinline__ void load_weight(const Next& next, int stage) const {
    const uint32_t full = ring_.full + 8 * stage;
    mbarrier_arrive_expect(full, ring_.weight_bytes + ring_.kXBytes);
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const uint32_t to = ring_.weight + stage * ring_.weight_bytes + piece * ring_.weight_piece;
#pragma unroll 1
      for (int row = 0; row < params_.bands.rows; row += params_.box_rows) {
        tensor_load_once(to + row * kStreamRowBytes, weight_, column(next, piece), next.row + row,
                         full);
      }
    }
  }
  __device__ __forceinline__ void load_x(const Next& next, int stage) const {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      tensor_load(ring_.x + stage * ring_.kXBytes + piece * ring_.kXPiece, x_, column(next, piece),
                  0, ring_.full + 8 * stage);
    }
  }

  const StreamRing<kTokens, kPieces>& ring_;
  const CUtensorMap& weight_;
  const CUtensorMap& x_;
  const StreamParams& params_;
  StreamShare share_;
  int count_;
  int first_;
};

}  // namespace deltaserve::cuda
