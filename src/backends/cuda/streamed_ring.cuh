// A block's share of a streamed product (streamed_product.cu), and the ring in shared memory
// through which one thread keeps tiles of W and x coming.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_vectors.cuh"
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

}  // namespace deltaserve::cuda
