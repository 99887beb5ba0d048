// How tiles of the grouped products (moe_grouped.cu) come to shared memory: a ring of stages, each
// 64 columns of 256 rows of an expert's matrix and of a thread block's tokens, in rows of 128 bytes
// with the swizzle of wgmma.cuh.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/moe_grouped_items.cuh"

namespace deltaserve::cuda {

inline constexpr int kMoeComputeThreads = 256;  // two warpgroups of 128 rows of the matrix each
inline constexpr int kMoeProducers = 128;
inline constexpr int kMoeMostTokens = static_cast<int>(kMoeTileRows) / kMoeCluster;  // of a block
inline constexpr int kMoeTileK = 64;  // 128 bytes: a swizzled row
inline constexpr int kMoeStages = 4;  // what fits
inline constexpr int kMoeWeightBytes = kMatrixRows * 128;
inline constexpr int kMoeHalfBytes = kMoeWeightBytes / kMoeCluster;
inline constexpr int kMoeTokenBytes = kMoeMostTokens * 128;
inline constexpr int kMoeBoxTokens = 16;
inline constexpr int kMoeCopies = kMoeMostTokens / 16;  // 16-byte pieces of a tile for a producer

// Starts a copy of 16 bytes.
__device__ __forceinline__ void copy_16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Arrives, as one of those the barrier expects, when this thread's copies so far have landed.
__device__ __forceinline__ void arrive_after_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

struct GroupedShared {
  std::byte weight[kMoeStages][kMoeWeightBytes];
  std::byte x[kMoeStages][kMoeTokenBytes];
  // Of items in turn, for each warpgroup.
  int32_t entries[2][kMoeComputeThreads / 128][kMoeMostTokens];
  uint64_t full[kMoeStages];
  uint64_t empty[kMoeStages];
};

// Where a role is in the ring of stages.
struct GroupedStage {
  uint32_t at = 0;
  uint32_t parity = 0;
  __device__ void next() {
    if (++at == kMoeStages) {
      at = 0;
      parity ^= 1U;
    }
  }
};

// Gate and up: a producer thread copies piece t % 8 of tokens t / 8 + 16 i of every tile, the first
// also starts the copies of the weights. Shared copies of weights beside gathered rows are slow.
__device__ __forceinline__ void gather_item(GroupedShared& shared, const CUtensorMap& weights,
                                            const GroupedParams& params, const GroupedItem& item,
                                            GroupedStage& stage) {
  const int thread = static_cast<int>(threadIdx.x) - kMoeComputeThreads;
  const int token = thread / 8;
  const int piece = thread % 8;
  const uint32_t to =
      shared_address(shared.x) + static_cast<uint32_t>(token * 128 + (piece ^ (token % 8)) * 16);
  const int weight_row = item.expert * static_cast<int>(params.rows) + item.first_row;
  uint32_t from[kMoeCopies];  // in pieces of 16 bytes
#pragma unroll
  for (int i = 0; i < kMoeCopies; ++i) {
    from[i] = 0;
    if (token + 16 * i < item.tokens) {
      const int row = params.sort.sorted[item.first + token + 16 * i] / params.K;
      from[i] = static_cast<uint32_t>(row) * static_cast<uint32_t>(params.x_stride / 8) +
                static_cast<uint32_t>(piece);
    }
  }
  const auto steps = static_cast<int>(params.columns / kMoeTileK);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const uint32_t full = shared_address(&shared.full[stage.at]);
    mbarrier_wait(shared_address(&shared.empty[stage.at]), stage.parity ^ 1U);
    if (thread == 0) {
      const uint32_t weight = shared_address(shared.weight[stage.at]);
      mbarrier_arrive_expect(full, kMoeWeightBytes);
      tensor_load(weight, weights, step * kMoeTileK, weight_row, full);
      tensor_load(weight + kMoeHalfBytes, weights, step * kMoeTileK, weight_row + kMatrixRows / 2,
                  full);
    }
#pragma unroll
    for (int i = 0; i < kMoeCopies; ++i) {
      if (token + 16 * i < item.tokens) {
        copy_16(to + stage.at * kMoeTokenBytes + static_cast<uint32_t>(i * 16 * 128),
                params.x + int64_t{from[i]} * 8 + step * kMoeTileK);
      }
    }
    arrive_after_copies(full);
    stage.next();
  }
}

// Down: its rows of x lie one after the other, and one thread starts all copies, of the weights
// half for both blocks.
__device__ __forceinline__ void copy_item(GroupedShared& shared, const CUtensorMap& weights,
                                          const CUtensorMap& tokens, const GroupedParams& params,
                                          const GroupedItem& item, int rank, GroupedStage& stage) {
  const int weight_row = item.expert * static_cast<int>(params.rows) + item.first_row +
                         rank * (kMatrixRows / kMoeCluster);
  const int boxes = (item.tokens + kMoeBoxTokens - 1) / kMoeBoxTokens;
  const auto steps = static_cast<int>(params.columns / kMoeTileK);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const uint32_t full = shared_address(&shared.full[stage.at]);
    mbarrier_wait(shared_address(&shared.empty[stage.at]), stage.parity ^ 1U);
    mbarrier_arrive_expect(full,
                           static_cast<uint32_t>(kMoeWeightBytes + boxes * kMoeBoxTokens * 128));
    tensor_load_multicast(
        shared_address(shared.weight[stage.at]) + static_cast<uint32_t>(rank * kMoeHalfBytes),
        weights, step * kMoeTileK, weight_row, full, (1U << kMoeCluster) - 1U);
    for (int i = 0; i < boxes; ++i) {
      tensor_load(
          shared_address(shared.x[stage.at]) + static_cast<uint32_t>(i * kMoeBoxTokens * 128),
          tokens, step * kMoeTileK, item.first + i * kMoeBoxTokens, full);
    }
    stage.next();
  }
}

}  // namespace deltaserve::cuda
