// The parts of wide_product.cu: where tiles lie, the ring of stages that one thread of a block
// keeps coming, and the warpgroup that multiplies them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/wgmma_wide.cuh"

namespace deltaserve::cuda {

inline constexpr int kWideCluster = 2;
inline constexpr int kWideGroups = 2;               // warpgroups that multiply
inline constexpr int kWideRows = kWideGroups * 64;  // of x, of a thread block
inline constexpr int kWideColumns = 256;            // rows of W
inline constexpr int kWideK = 64;                   // 128 bytes: a swizzled row
inline constexpr int kWideStages = 4;               // 192 KiB
inline constexpr int kWidePanel = 8;                // cluster tiles of 256 rows of x
inline constexpr int kWideThreads = (kWideGroups + 1) * 128;
inline constexpr int kWideSums = kWideColumns / 2;  // of a thread: 64 x 256 over 128 threads
inline constexpr int kWideHalfBytes =
    kWideColumns / kWideCluster * kWideK * 2;  // of W's tile, that a block loads

struct WideShared {
  std::byte x[kWideStages][kWideRows * kWideK * 2];
  std::byte weight[kWideStages][kWideColumns * kWideK * 2];
  uint64_t full[kWideStages];
  uint64_t empty[kWideStages];
};

struct WideParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  int32_t M;
  int32_t columns;  // of out
  int32_t steps;    // of K
  int32_t tall;     // cluster tiles over x's rows
  int32_t tiles;    // cluster tiles in all
  int32_t wide;     // over W's rows
};

// Where cluster tile `index` begins: row of x for this thread block, and row of W.
struct TilePlace {
  int row;
  int column;
};

__device__ __forceinline__ TilePlace place_of(const WideParams& params, int index) {
  const int panel = index / (kWidePanel * params.wide);
  const int height = min(kWidePanel, params.tall - panel * kWidePanel);
  const int inside = index - panel * kWidePanel * params.wide;
  const int tile_row = panel * kWidePanel + inside % height;
  return {(tile_row * kWideCluster + cluster_rank()) * kWideRows, inside / height * kWideColumns};
}

// A place in the ring of stages.
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    stage = stage + 1 == kWideStages ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
};

// One thread starts all copies of a thread block.
__device__ inline void load_wide_tiles(WideShared& shared, const CUtensorMap& x,
                                       const CUtensorMap& weight, const WideParams& params) {
  constexpr uint32_t kStageBytes = sizeof(shared.x[0]) + sizeof(shared.weight[0]);
  constexpr uint16_t kBoth = (1U << kWideCluster) - 1;
  const int rank = cluster_rank();
  const int clusters = static_cast<int>(gridDim.x) / kWideCluster;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x) / kWideCluster; index < params.tiles;
       index += clusters) {
    const TilePlace place = place_of(params, index);
    for (int step = 0; step < params.steps; ++step) {
      const uint32_t full = shared_address(&shared.full[ring.stage]);
      mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      mbarrier_arrive_expect(full, kStageBytes);
      tensor_load(shared_address(shared.x[ring.stage]), x, step * kWideK, place.row, full);
      tensor_load_multicast(shared_address(shared.weight[ring.stage]) + rank * kWideHalfBytes,
                            weight, step * kWideK,
                            place.column + rank * (kWideColumns / kWideCluster), full, kBoth);
      ring.advance();
    }
  }
}

// Says in both thread blocks that this warp has read a stage.
__device__ __forceinline__ void release_stage(WideShared& shared, int stage) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane < kWideCluster) {
    mbarrier_arrive_at(shared_address(&shared.empty[stage]), lane);
  }
}

// sums [64 x 256] of a warpgroup of one tile.
__device__ __forceinline__ void multiply_wide_tile(WideShared& shared, int group, int steps,
                                                   Ring& ring, float (&sums)[kWideSums]) {
  int before = 0;  // the stage whose products may still run
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const uint64_t a =
        wgmma_operand(shared_address(shared.x[ring.stage]) + group * 64 * 128, 16, 1024);
    const uint64_t b = wgmma_operand(shared_address(shared.weight[ring.stage]), 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kWideK / 16; ++k) {
      wgmma_n256_shared(sums, a + 2 * k, b + 2 * k, step != 0 || k != 0);
    }
    wgmma_commit();
    wgmma_wait_for<1>();
    if (step != 0) {
      release_stage(shared, before);
    }
    before = ring.stage;
    ring.advance();
  }
  wgmma_wait();
  release_stage(shared, before);
}

// In float32, for a result in bfloat16.
__device__ __forceinline__ float gated(float gate, float up) {
  return silu_for<bf16>(gate) * up;
}

// Transposes 4 words over the 4 lanes of a quad: lane t gets word t of each.
__device__ __forceinline__ void transpose_quad(uint32_t (&words)[4]) {
  const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = (lane & bit) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & bit) == 0) {
        const uint32_t got = __shfl_xor_sync(kAllLanes, upper ? words[i] : words[i + bit], bit);
        words[i] = upper ? got : words[i];
        words[i + bit] = upper ? words[i + bit] : got;
      }
    }
  }
}

}  // namespace deltaserve::cuda
