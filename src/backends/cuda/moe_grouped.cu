// The experts' products for many tokens, bfloat16, on wgmma. Weights are the product's rows and
// tokens its columns, in steps of sixteen: an expert with few tokens costs what these take. A
// cluster of two thread blocks shares 256 rows of one expert's matrix, each block copies half of
// them for both, and has up to 160 of the expert's tokens of its own: what limits such products is
// how much the second-level cache must deliver. Which expert and tokens is read from the list that
// moe_sort.cu made on the device. Rows of x are gathered by 16-byte copies straight into the
// swizzled tile, so that no permuted copy of x is ever written.
#include "backends/cuda/cluster.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_grouped_items.cuh"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/wgmma_tokens.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kComputeThreads = 256;  // two warpgroups of 128 rows of the matrix each
constexpr int kProducers = 128;
constexpr int kThreads = kComputeThreads + kProducers;
constexpr int kMostTokens = static_cast<int>(kMoeTileRows) / kMoeCluster;  // of a block
constexpr int kTileK = 64;  // 128 bytes: a swizzled row
constexpr int kStages = 4;  // what fits
constexpr int kWeightBytes = kMatrixRows * 128;
constexpr int kHalfBytes = kWeightBytes / kMoeCluster;
constexpr int kTokenBytes = kMostTokens * 128;
constexpr int kBoxTokens = 16;
constexpr int kCopies = kMostTokens / 16;  // 16-byte pieces of a tile that a producer copies

// Starts a copy of 16 bytes.
__device__ __forceinline__ void copy_16(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
// Arrives, as one of those the barrier expects, when this thread's copies so far have landed.
__device__ __forceinline__ void arrive_after_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

struct GroupedShared {
  std::byte weight[kStages][kWeightBytes];
  std::byte x[kStages][kTokenBytes];
  int32_t entries[2][kComputeThreads / 128][kMostTokens];  // of items in turn, for each warpgroup
  uint64_t full[kStages];
  uint64_t empty[kStages];
};

// Where a role is in the ring of stages.
struct Stage {
  uint32_t at = 0;
  uint32_t parity = 0;
  __device__ void next() {
    if (++at == kStages) {
      at = 0;
      parity ^= 1U;
    }
  }
};

// Gate and up: a producer thread copies piece t % 8 of tokens t / 8 + 16 i of every tile, the first
// also starts the copies of the weights. Shared copies of weights beside gathered rows are slow.
__device__ void gather_item(GroupedShared& shared, const CUtensorMap& weights,
                            const GroupedParams& params, const GroupedItem& item, Stage& stage) {
  const int thread = static_cast<int>(threadIdx.x) - kComputeThreads;
  const int token = thread / 8;
  const int piece = thread % 8;
  const uint32_t to =
      shared_address(shared.x) + static_cast<uint32_t>(token * 128 + (piece ^ (token % 8)) * 16);
  const int weight_row = item.expert * static_cast<int>(params.rows) + item.first_row;
  uint32_t from[kCopies];  // in pieces of 16 bytes
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    from[i] = 0;
    if (token + 16 * i < item.tokens) {
      const int row = params.sort.sorted[item.first + token + 16 * i] / params.K;
      from[i] = static_cast<uint32_t>(row) * static_cast<uint32_t>(params.x_stride / 8) +
                static_cast<uint32_t>(piece);
    }
  }
  const auto steps = static_cast<int>(params.columns / kTileK);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const uint32_t full = shared_address(&shared.full[stage.at]);
    mbarrier_wait(shared_address(&shared.empty[stage.at]), stage.parity ^ 1U);
    if (thread == 0) {
      const uint32_t weight = shared_address(shared.weight[stage.at]);
      mbarrier_arrive_expect(full, kWeightBytes);
      tensor_load(weight, weights, step * kTileK, weight_row, full);
      tensor_load(weight + kHalfBytes, weights, step * kTileK, weight_row + kMatrixRows / 2, full);
    }
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      if (token + 16 * i < item.tokens) {
        copy_16(to + stage.at * kTokenBytes + static_cast<uint32_t>(i * 16 * 128),
                params.x + int64_t{from[i]} * 8 + step * kTileK);
      }
    }
    arrive_after_copies(full);
    stage.next();
  }
}

// Down: its rows of x lie one after the other, and one thread starts all copies, of the weights
// half for both blocks.
__device__ void copy_item(GroupedShared& shared, const CUtensorMap& weights,
                          const CUtensorMap& tokens, const GroupedParams& params,
                          const GroupedItem& item, int rank, Stage& stage) {
  const int weight_row = item.expert * static_cast<int>(params.rows) + item.first_row +
                         rank * (kMatrixRows / kMoeCluster);
  const int boxes = (item.tokens + kBoxTokens - 1) / kBoxTokens;
  const auto steps = static_cast<int>(params.columns / kTileK);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    const uint32_t full = shared_address(&shared.full[stage.at]);
    mbarrier_wait(shared_address(&shared.empty[stage.at]), stage.parity ^ 1U);
    mbarrier_arrive_expect(full, static_cast<uint32_t>(kWeightBytes + boxes * kBoxTokens * 128));
    tensor_load_multicast(
        shared_address(shared.weight[stage.at]) + static_cast<uint32_t>(rank * kHalfBytes), weights,
        step * kTileK, weight_row, full, (1U << kMoeCluster) - 1U);
    for (int i = 0; i < boxes; ++i) {
      tensor_load(shared_address(shared.x[stage.at]) + static_cast<uint32_t>(i * kBoxTokens * 128),
                  tokens, step * kTileK, item.first + i * kBoxTokens, full);
    }
    stage.next();
  }
}

// Frees the stage, of down in both blocks: each wrote a part of it.
template <bool kGateUp>
__device__ __forceinline__ void release(GroupedShared& shared, const Stage& stage) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t empty = shared_address(&shared.empty[stage.at]);
  if constexpr (kGateUp) {
    if (lane == 0) {
      mbarrier_arrive(empty);
    }
  } else if (lane < kMoeCluster) {
    mbarrier_arrive_at(empty, lane);
  }
}

// A warpgroup's 128 rows with 16 Blocks tokens, as two products of 64 rows.
template <bool kGateUp, int Blocks>
__device__ __forceinline__ void compute_item(GroupedShared& shared, const GroupedParams& params,
                                             const GroupedItem& item, int group, int32_t* entries,
                                             Stage& stage) {
  // Read now, needed at the end.
  const int thread = static_cast<int>(threadIdx.x) % 128;
  int32_t mine[2] = {};
  if constexpr (!kGateUp) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (thread + 128 * i < item.tokens) {
        mine[i] = params.sort.sorted[item.first + thread + 128 * i];
      }
    }
  }
  float sums[2][Blocks * 8];
#pragma unroll
  for (int i = 0; i < Blocks * 8; ++i) {
    sums[0][i] = 0.0F;
    sums[1][i] = 0.0F;
  }
  const auto steps = static_cast<int>(params.columns / kTileK);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[stage.at]), stage.parity);
    if constexpr (kGateUp) {
      async_proxy_fence();
    }
    const uint64_t x = wgmma_operand(shared_address(shared.x[stage.at]), 16, 1024);
    const uint64_t weight = wgmma_operand(
        shared_address(shared.weight[stage.at]) + static_cast<uint32_t>(group * 128 * 128), 16,
        1024);
    pin(sums[0]);
    pin(sums[1]);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      wgmma_tokens(sums[0], weight + 2 * k, x + 2 * k, true);
      wgmma_tokens(sums[1], weight + (64 * 128 >> 4) + 2 * k, x + 2 * k, true);
    }
    wgmma_commit();
    wgmma_wait();
    pin(sums[0]);
    pin(sums[1]);
    release<kGateUp>(shared, stage);
    stage.next();
  }
  const int first_row = item.first_row + group * 128;
  if constexpr (kGateUp) {
    store_gate_up<Blocks>(params.out, item.first, item.tokens, first_row, sums);
  } else {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (thread + 128 * i < item.tokens) {
        entries[thread + 128 * i] = mine[i];
      }
    }
    if (group == 0) {
      named_barrier<128>(1);
    } else {
      named_barrier<128>(2);
    }
    store_down<Blocks>(params.out, entries, item.tokens, first_row, sums);
  }
}

// A block without tokens: its half of the weights still passes through.
template <bool kGateUp>
__device__ void pass_item(GroupedShared& shared, const GroupedParams& params, Stage& stage) {
  const auto steps = static_cast<int>(params.columns / kTileK);
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[stage.at]), stage.parity);
    __syncwarp();
    release<kGateUp>(shared, stage);
    stage.next();
  }
}

template <bool kGateUp, int Blocks = kMostTokens / 16>
__device__ __forceinline__ void compute_blocks(GroupedShared& shared, const GroupedParams& params,
                                               const GroupedItem& item, int group, int32_t* entries,
                                               Stage& stage) {
  if constexpr (Blocks > 1) {
    if (item.tokens <= 16 * (Blocks - 1)) {
      compute_blocks<kGateUp, Blocks - 1>(shared, params, item, group, entries, stage);
      return;
    }
  }
  compute_item<kGateUp, Blocks>(shared, params, item, group, entries, stage);
}

template <bool kGateUp>
__device__ __forceinline__ void make_barriers(GroupedShared& shared) {
  constexpr int kArrivals = kComputeThreads / kWarp * (kGateUp ? 1 : kMoeCluster);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), kGateUp ? kProducers + 1 : 1);
      mbarrier_init(shared_address(&shared.empty[i]), kArrivals);
    }
    mbarrier_init_fence();
  }
  cluster_sync();
}

template <bool kGateUp>
__device__ void multiply_items(GroupedShared& shared, const CUtensorMap& weights,
                               const CUtensorMap& tokens, const GroupedParams& params) {
  make_barriers<kGateUp>(shared);
  const int rank = cluster_rank();
  const int group = static_cast<int>(threadIdx.x) / 128;
  GroupedItems items(params, rank);
  Stage stage;
  if (group == kComputeThreads / 128) {
    shrink_registers<40>();
    while (items.more()) {
      const GroupedItem item = items.take();
      if constexpr (kGateUp) {
        gather_item(shared, weights, params, item, stage);
      } else if (threadIdx.x == kComputeThreads) {
        copy_item(shared, weights, tokens, params, item, rank, stage);
      }
    }
  } else {
    grow_registers<232>();
    for (int parity = 0; items.more(); parity ^= 1) {
      const GroupedItem item = items.take();
      if (item.tokens > 0) {
        compute_blocks<kGateUp>(shared, params, item, group, shared.entries[parity][group], stage);
      } else {
        pass_item<kGateUp>(shared, params, stage);
      }
    }
  }
  cluster_sync();  // the other block may still write here
}

template <bool kGateUp>
__global__ void __launch_bounds__(kThreads, 1)
    moe_grouped_kernel(const __grid_constant__ CUtensorMap weights,
                       const __grid_constant__ CUtensorMap tokens, GroupedParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    multiply_items<kGateUp>(*reinterpret_cast<GroupedShared*>(memory), weights, tokens, params);
  }
}

template <bool kGateUp>
void launch_grouped(CudaContext& context, const void* weight, int64_t num_experts, int64_t x_rows,
                    const GroupedParams& params) {
  auto* const kernel = moe_grouped_kernel<kGateUp>;
  allow_shared(kernel, sizeof(GroupedShared));
  launch_cluster(
      context, kernel, kMoeCluster,
      {.grid = dim3(static_cast<unsigned>(context.device.num_sms / kMoeCluster * kMoeCluster)),
       .block = dim3(kThreads),
       .shared_bytes = sizeof(GroupedShared)},
      make_tensor_map(weight, num_experts * params.rows, params.columns, params.columns,
                      kMatrixRows / kMoeCluster),
      make_tensor_map(params.x, x_rows, params.columns, params.x_stride, kBoxTokens), params);
}

}  // namespace

void launch_moe_grouped(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const MoeSort sort = moe_sort_arrays(buffers.sort, args.T, args.K, experts.E);
  const GroupedOut out{.act = static_cast<bf16*>(buffers.act),
                       .down = buffers.down_halves,
                       .exponents = buffers.down_exponents,
                       .I = experts.I,
                       .H = experts.H};
  launch_grouped<true>(context, experts.gate_up.data(), experts.E, args.T,
                       {.sort = sort,
                        .K = args.K,
                        .rows = 2 * experts.I,
                        .columns = experts.H,
                        .x = static_cast<const bf16*>(args.x),
                        .x_stride = args.x_stride,
                        .out = out});
  launch_grouped<false>(context, experts.down.data(), experts.E, args.T * args.K,
                        {.sort = sort,
                         .K = args.K,
                         .rows = experts.H,
                         .columns = experts.I,
                         .x = static_cast<const bf16*>(buffers.act),
                         .x_stride = experts.I,
                         .out = out});
}

}  // namespace deltaserve::cuda
