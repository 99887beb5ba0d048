// The parts of streamed_product.cu: how units are shared out, the ring of tiles that one thread of
// a block keeps coming, the two warpgroups that multiply them, and the meeting of partial sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/wgmma_narrow.cuh"

namespace deltaserve::cuda {

inline constexpr int kStreamGroups = 2;  // warpgroups that multiply, 64 rows of W each
inline constexpr int kStreamRows = kStreamGroups * 64;
inline constexpr int kStreamK = 64;  // 128 bytes: a swizzled row
inline constexpr int kStreamConsumers = kStreamGroups * 128;
inline constexpr int kStreamThreads = kStreamConsumers + kWarp;
inline constexpr int kStreamTileBytes = kStreamRows * kStreamK * 2;
inline constexpr int kMostStreamTokens = static_cast<int>(kMaxStreamedRows);

// Tiles of the ring: two thread blocks fit a multiprocessor, so that the next product, which may
// start as soon as this one has filled its ring, can fill its own while this one runs.
template <int kTokens>
inline constexpr int kStreamStages = kTokens == 32 ? 5 : 6;
template <int kTokens>
struct StreamShared {
  std::byte weight[kStreamStages<kTokens>][kStreamTileBytes];
  std::byte x[kStreamStages<kTokens>][kTokens * kStreamK * 2];
  uint64_t full[kStreamStages<kTokens>];
  uint64_t empty[kStreamStages<kTokens>];
};

struct StreamParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  int64_t rows;  // of out: of W, or I for gate_up
  int32_t M;
  int32_t tiles;     // of rows of W
  int32_t k_blocks;  // of a tile
  float* partials;   // [blocks][kTokens / 8][kStreamConsumers][4]
  int32_t* flags;    // [blocks]: whether the partial sums are there; zero between launches
};

// Units [begin, end) of a thread block.
struct UnitRange {
  int begin;
  int end;
};

__device__ __forceinline__ UnitRange units_of(const StreamParams& params, int block) {
  const int64_t units = int64_t{params.tiles} * params.k_blocks;
  return {static_cast<int>(units * block / gridDim.x),
          static_cast<int>(units * (block + 1) / gridDim.x)};
}

// The ring's side of a thread block: one thread starts all copies.
template <int kTokens>
__device__ void stream_units(StreamShared<kTokens>& shared, const CUtensorMap& weight,
                             const CUtensorMap& x, const StreamParams& params) {
  constexpr int kRing = kStreamStages<kTokens>;
  constexpr uint32_t kStageBytes = kStreamTileBytes + kTokens * kStreamK * 2;
  const UnitRange range = units_of(params, static_cast<int>(blockIdx.x));
  const int count = range.end - range.begin;
  const auto column = [&](int i) { return (range.begin + i) % params.k_blocks * kStreamK; };
  const auto row = [&](int i) { return (range.begin + i) / params.k_blocks * kStreamRows; };
  const auto load_weight = [&](int i, int stage) {
    const uint32_t full = shared_address(&shared.full[stage]);
    mbarrier_arrive_expect(full, kStageBytes);
    tensor_load(shared_address(shared.weight[stage]), weight, column(i), row(i), full);
  };
  const auto load_x = [&](int i, int stage) {
    tensor_load(shared_address(shared.x[stage]), x, column(i), 0,
                shared_address(&shared.full[stage]));
  };
  const int first = min(count, kRing);
  for (int i = 0; i < first; ++i) {
    load_weight(i, i);
  }
  let_next_start();
  wait_for_previous();
  for (int i = 0; i < first; ++i) {
    load_x(i, i);
  }
  int stage = 0;
  uint32_t parity = 0;
  for (int i = first; i < count; ++i) {
    mbarrier_wait(shared_address(&shared.empty[stage]), parity);
    load_weight(i, stage);
    load_x(i, stage);
    stage = stage + 1 == kRing ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
}

// A thread's place in the ring while it multiplies.
struct RingPlace {
  int stage = 0;
  uint32_t parity = 0;
};

// sums [64 rows][kTokens] of a warpgroup over the next `count` units.
template <int kTokens>
__device__ __forceinline__ void multiply_units(StreamShared<kTokens>& shared, int count,
                                               RingPlace& place, float (&sums)[kTokens / 2]) {
  const int group = static_cast<int>(threadIdx.x) / 128;
#pragma unroll
  for (float& sum : sums) {
    sum = 0.0F;
  }
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(shared_address(&shared.full[place.stage]), place.parity);
    const uint64_t a =
        wgmma_operand(shared_address(shared.weight[place.stage]) + group * 64 * 128, 16, 1024);
    const uint64_t b = wgmma_operand(shared_address(shared.x[place.stage]), 16, 1024);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kStreamK / 16; ++k) {
      wgmma_narrow(sums, a + 2 * k, b + 2 * k);
    }
    wgmma_commit();
    wgmma_wait();
    pin(sums);
    if (threadIdx.x % kWarp == 0) {
      mbarrier_arrive(shared_address(&shared.empty[place.stage]));
    }
    place.stage = place.stage + 1 == kStreamStages<kTokens> ? 0 : place.stage + 1;
    place.parity ^= place.stage == 0 ? 1U : 0U;
  }
}

__device__ __forceinline__ void store_flag(int32_t* flag) {
  asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ __forceinline__ int32_t load_flag(const int32_t* flag) {
  int32_t value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

template <int kTokens>
__device__ __forceinline__ float* partial_of(const StreamParams& params, int block) {
  return params.partials + (int64_t{block} * (kTokens / 8) * kStreamConsumers + threadIdx.x) * 4;
}

// Leaves sums for the block that has the tile's beginning.
template <int kTokens>
__device__ void give_partial(const StreamParams& params, const float (&sums)[kTokens / 2]) {
  const int block = static_cast<int>(blockIdx.x);
  float* to = partial_of<kTokens>(params, block);
#pragma unroll
  for (int p = 0; p < kTokens / 8; ++p) {
    __stcg(reinterpret_cast<float4*>(to + p * kStreamConsumers * 4),
           make_float4(sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]));
  }
  __threadfence();
  named_barrier<kStreamConsumers>(1);
  if (threadIdx.x == 0) {
    store_flag(params.flags + block);
  }
}

// Adds what the blocks after this one left of the tile that ends at unit `tile_end`, in order.
template <int kTokens>
__device__ void take_partials(const StreamParams& params, int tile_end,
                              float (&sums)[kTokens / 2]) {
  for (int block = static_cast<int>(blockIdx.x) + 1;; ++block) {
    const UnitRange range = units_of(params, block);
    if (range.begin < range.end) {
      if (threadIdx.x == 0) {
        while (load_flag(params.flags + block) == 0) {
        }
        params.flags[block] = 0;
      }
      named_barrier<kStreamConsumers>(1);
      const float* from = partial_of<kTokens>(params, block);
#pragma unroll
      for (int p = 0; p < kTokens / 8; ++p) {
        const float4 part =
            __ldcg(reinterpret_cast<const float4*>(from + p * kStreamConsumers * 4));
        sums[4 * p] += part.x;
        sums[4 * p + 1] += part.y;
        sums[4 * p + 2] += part.z;
        sums[4 * p + 3] += part.w;
      }
    }
    if (range.end >= tile_end) {
      return;
    }
  }
}

}  // namespace deltaserve::cuda
