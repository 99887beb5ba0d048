// The parts of streamed_product.cu: the ring of tiles that one thread of a block keeps coming, the
// two warpgroups that multiply them, and the sum over the blocks of a cluster.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/streamed_bands.h"
#include "backends/cuda/wgmma_narrow.cuh"

namespace deltaserve::cuda {

inline constexpr int kStreamPiece = 64;     // of K: 128 bytes, a swizzled row
inline constexpr int kStreamTileRows = 64;  // of W in a product of a warpgroup
inline constexpr int kStreamConsumers = 2 * 128;
inline constexpr int kStreamThreads = kStreamConsumers + kWarp;
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
  int32_t k_blocks;  // of W's K, a stage's each
  int32_t stages;    // of the ring
  int32_t boxes;     // tensor copies of a stage of W
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
    const int blocks = params.bands.blocks;
    rank = blocks > 1 ? cluster_rank() : 0;
    first = static_cast<int>(blockIdx.x) / blocks;
    step = static_cast<int>(gridDim.x) / blocks;
    k_begin = params.k_blocks * rank / blocks;
    k_count = params.k_blocks * (rank + 1) / blocks - k_begin;
  }
  __device__ int stages(const StreamParams& params) const {
    return first < params.bands.count ? ((params.bands.count - 1 - first) / step + 1) * k_count : 0;
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

// The ring's side of a thread block: one thread starts all copies. Columns behind K's end read as
// zero.
template <int kTokens, int kPieces>
__device__ void stream_bands(const StreamRing<kTokens, kPieces>& ring, const CUtensorMap& weight,
                             const CUtensorMap& x, const StreamParams& params) {
  const StreamShare share(params);
  const int count = share.stages(params);
  const int box_rows = params.bands.rows / params.boxes;
  const auto column = [&](int i, int piece) {
    return ((share.k_begin + i % share.k_count) * kPieces + piece) * kStreamPiece;
  };
  const auto load_weight = [&](int i, int stage) {
    const uint32_t full = ring.full + 8 * stage;
    const int row = (share.first + i / share.k_count * share.step) * params.bands.rows;
    mbarrier_arrive_expect(full, ring.weight_bytes + ring.kXBytes);
    for (int piece = 0; piece < kPieces; ++piece) {
      const uint32_t to = ring.weight + stage * ring.weight_bytes + piece * ring.weight_piece;
      for (int box = 0; box < params.boxes; ++box) {
        tensor_load_once(to + box * box_rows * kStreamRowBytes, weight, column(i, piece),
                         row + box * box_rows, full);
      }
    }
  };
  const auto load_x = [&](int i, int stage) {
    for (int piece = 0; piece < kPieces; ++piece) {
      tensor_load(ring.x + stage * ring.kXBytes + piece * ring.kXPiece, x, column(i, piece), 0,
                  ring.full + 8 * stage);
    }
  };
  const int first = min(count, params.stages);
  for (int i = 0; i < first; ++i) {
    load_weight(i, i);
  }
  let_next_start();
  wait_for_previous();
  for (int i = 0; i < first; ++i) {
    load_x(i, i);
  }
  RingPlace place;
  for (int i = first; i < count; ++i) {
    mbarrier_wait(ring.empty + 8 * place.stage, place.parity);
    load_weight(i, place.stage);
    load_x(i, place.stage);
    place.advance(params.stages);
  }
}

// A warpgroup's sums of its kTiles tiles of a band: [64 rows][kTokens] each.
template <int kTokens, int kTiles>
using StreamSums = float[kTiles][kTokens / 2];

// Tile j of this warpgroup. Those of the second may lie behind the band's end, and the last one may
// reach over it: results of such rows are not used.
template <int kTiles>
__device__ __forceinline__ int tile_of(int j) {
  return static_cast<int>(threadIdx.x) / 128 * kTiles + j;
}

// sums over the next `count` stages.
template <int kTokens, int kTiles, int kPieces>
__device__ __forceinline__ void multiply_stages(const StreamRing<kTokens, kPieces>& ring,
                                                const StreamParams& params, int count,
                                                RingPlace& place,
                                                StreamSums<kTokens, kTiles>& sums) {
  const int last_tile = (params.bands.rows - 1) / kStreamTileRows;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
#pragma unroll
    for (float& sum : sums[j]) {
      sum = 0.0F;
    }
  }
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(ring.full + 8 * place.stage, place.parity);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      pin(sums[j]);
    }
    wgmma_fence();
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const uint32_t weight =
          ring.weight + place.stage * ring.weight_bytes + piece * ring.weight_piece;
      const uint64_t b =
          wgmma_operand(ring.x + place.stage * ring.kXBytes + piece * ring.kXPiece, 16, 1024);
#pragma unroll
      for (int k = 0; k < kStreamPiece / 16; ++k) {
#pragma unroll
        for (int j = 0; j < kTiles; ++j) {
          const int tile = min(tile_of<kTiles>(j), last_tile);
          const uint64_t a =
              wgmma_operand(weight + tile * kStreamTileRows * kStreamRowBytes, 16, 1024);
          wgmma_narrow(sums[j], a + 2 * k, b + 2 * k);
        }
      }
    }
    wgmma_commit();
    wgmma_wait();
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
      pin(sums[j]);
    }
    if (threadIdx.x % kWarp == 0) {
      mbarrier_arrive(ring.empty + 8 * place.stage);
    }
    place.advance(params.stages);
  }
}

__device__ __forceinline__ float4 load_shared(uint32_t place) {
  float4 four;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(place)
               : "memory");
  return four;
}
__device__ __forceinline__ void store_shared(uint32_t place, float4 four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(place), "f"(four.x), "f"(four.y),
               "f"(four.z), "f"(four.w)
               : "memory");
}

// Four neighbouring sums of a thread in float4's order: rows g and g + 8 of 16, two tokens.
template <int N>
__device__ __forceinline__ float4 four_of(const float (&sums)[N], int p) {
  return make_float4(sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]);
}

// The way of a band's sums out of the registers, through shared memory behind the ring, so that
// what is done with them is a short loop: straight code for all of them has to be fetched first,
// at the very end of a product and from memory that is busy.
template <int kTokens, int kTiles>
struct StreamResults {
  static constexpr int kFours = kTokens / 8;  // of a tile and thread
  static constexpr int kAll = kTiles * kFours;
  static constexpr int kFourBytes = kStreamConsumers * 16;  // of all threads
  static constexpr int64_t bytes(int64_t blocks) {
    return (blocks == 1 ? kFours : blocks * ceil_div<int64_t>(kAll, blocks)) * kFourBytes;
  }

  uint32_t area;
  int blocks;
  int rank;

  // Vector i of those that block `source` has of another one's results.
  __device__ __forceinline__ uint32_t place(int source, int i) const {
    const int most = (kAll + blocks - 1) / blocks;
    return area + (source * most + i) * kFourBytes + threadIdx.x * 16;
  }

  // use(j, p, four) gets every four sums of this thread.
  template <typename Use>
  __device__ __forceinline__ void hand_out(const StreamSums<kTokens, kTiles>& sums,
                                           const Use& use) const {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int p = 0; p < kFours; ++p) {
        store_shared(place(0, p), four_of(sums[j], p));
      }
#pragma unroll 1
      for (int p = 0; p < kFours; ++p) {
        use(j, p, load_shared(place(0, p)));
      }
    }
  }

  // The same of the sums over the blocks of the cluster in the order of K. Each block takes its
  // part of the results and gets what the others have of it. With `begin` nothing is given to
  // others, who may not have begun yet; behind it they have.
  template <typename Use>
  __device__ __forceinline__ void add_up(const StreamSums<kTokens, kTiles>& sums, bool begin,
                                         const Use& use) const {
#pragma unroll
    for (int v = 0; v < kAll; ++v) {
      store_shared_at(place(rank, v / blocks), begin ? rank : v % blocks,
                      four_of(sums[v / kFours], v % kFours));
    }
    cluster_arrive();
    cluster_wait();
#pragma unroll 1
    for (int i = 0; rank + i * blocks < kAll; ++i) {
      float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 1
      for (int source = 0; source < blocks; ++source) {
        const float4 part = load_shared(place(source, i));
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
        sum.w += part.w;
      }
      const int v = rank + i * blocks;
      use(v / kFours, v % kFours, sum);
    }
  }
};

}  // namespace deltaserve::cuda
