// A block's share of a streamed product (streamed_product.cu), and the ring in shared memory
// through which one thread keeps tiles of W and x coming.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/norm_scale.cuh"
#include "backends/cuda/streamed_bands.h"

namespace deltaserve::cuda {

inline constexpr int kStreamPiece = 64;     // of K: 128 bytes, a swizzled row
inline constexpr int kStreamTileRows = 64;  // of W in a product of a warpgroup
inline constexpr int kStreamConsumers = 2 * 128;
// A warp that copies W and x, and one that fetches what else is needed.
inline constexpr int kStreamThreads = kStreamConsumers + 2 * kWarp;
inline constexpr int kStreamRowBytes = kStreamPiece * 2;
inline constexpr int kMostStreamTokens = static_cast<int>(kMaxStreamedRows);
inline constexpr int kMostBoxRows = 256;  // of a tensor copy

// Pieces of K in a stage of the ring: two of low bands, so that waiting for a stage and giving it
// back costs less beside its products.
template <int kTiles>
inline constexpr int kStreamPieces = kTiles == 1 ? 2 : 1;

struct StreamParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  int64_t rows;  // of out: of W, or I for gate_up
  int32_t M;
  Bands bands;
  int32_t k_blocks;   // of W's K, a stage's each
  int32_t stages;     // of the ring
  int32_t box_rows;   // of a band, in a tensor copy
  int32_t norm_area;  // offset of a StreamNormArea in shared memory
  NormScale scale;    // of x
  NormRows norm;      // of a product of kNorm
};

// What a thread block multiplies: bands `first`, first + step, .., and of each of them the blocks
// [k_begin, k_begin + k_count) of K.
struct StreamShare {
  int rank;  // in the cluster
  int first;
  int step;
  int k_begin;
  int k_count;

  __device__ explicit StreamShare(const StreamParams& params) {
    const int shift = __ffs(params.bands.blocks) - 1;  // a power of two
    rank = shift > 0 ? cluster_rank() : 0;
    first = static_cast<int>(blockIdx.x) >> shift;
    step = static_cast<int>(gridDim.x) >> shift;
    k_begin = params.k_blocks * rank >> shift;
    k_count = (params.k_blocks * (rank + 1) >> shift) - k_begin;
  }
  __device__ int stages(const StreamParams& params) const {
    int count = 0;  // mostly of one band: less than a division
#pragma unroll 1
    for (int band = first; band < params.bands.count; band += step) {
      count += k_count;
    }
    return count;
  }
};

// Shared memory of a block: for each stage kPieces times W [band rows][kStreamPiece], then for each
// kPieces times x [kTokens][kStreamPiece], then the barriers. Addresses.
template <int kTokens, int kPieces>
struct StreamRing {
  static constexpr uint32_t kXPiece = kTokens * kStreamRowBytes;
  static constexpr uint32_t kXBytes = kPieces * kXPiece;  // of a stage
  uint32_t weight_piece;
  uint32_t weight_bytes;  // of a stage
  uint32_t weight;
  uint32_t x;
  uint32_t full;
  uint32_t empty;
  uint32_t end;

  __device__ StreamRing(const std::byte* memory, const StreamParams& params) {
    const auto stages = static_cast<uint32_t>(params.stages);
    weight_piece = static_cast<uint32_t>(params.bands.rows) * kStreamRowBytes;
    weight_bytes = kPieces * weight_piece;
    weight = shared_address(memory);
    x = weight + stages * weight_bytes;
    full = x + stages * kXBytes;
    empty = full + stages * 8;
    end = empty + stages * 8;
  }
  static constexpr int64_t stage_bytes(int64_t band_rows) {
    return kPieces * band_rows * kStreamRowBytes + kXBytes + 16;
  }
};

// A place in the ring, with the parity of its phase.
struct RingPlace {
  int stage = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ void advance(int stages) {
    stage = stage + 1 == stages ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
};

// As tensor_load, of what nobody reads again soon: it leaves the second level cache first.
__device__ __forceinline__ void tensor_load_once(uint32_t to, const CUtensorMap& map,
                                                 int32_t column, int32_t row, uint32_t barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], policy;\n"
      "}" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

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
