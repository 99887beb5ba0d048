// The experts' products for many tokens, bfloat16, on wgmma. Weights are the product's rows and
// tokens its columns, in steps of sixteen: an expert with few tokens costs what these take. A
// cluster of two thread blocks shares 256 rows of one expert's matrix, each block copies half of
// them for both, and has up to 160 of the expert's tokens of its own: what limits such products is
// how much the second-level cache must deliver. Which expert and tokens is read from the list that
// moe_sort.cu made on the device. Rows of x are gathered by 16-byte copies straight into the
// swizzled tile, so that no permuted copy of x is ever written.
#include "backends/cuda/cluster.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_grouped_copies.cuh"
#include "backends/cuda/moe_grouped_items.cuh"
#include "backends/cuda/moe_grouped_store.cuh"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/wgmma_tokens.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = kMoeComputeThreads + kMoeProducers;

// Frees the stage, of down in both blocks: each wrote a part of it.
template <bool kGateUp>
__device__ __forceinline__ void release(GroupedShared& shared, const GroupedStage& stage) {
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
                                             GroupedStage& stage) {
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
  const auto steps = static_cast<int>(params.columns / kMoeTileK);
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
    for (int k = 0; k < kMoeTileK / 16; ++k) {
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
__device__ void pass_item(GroupedShared& shared, const GroupedParams& params, GroupedStage& stage) {
  const auto steps = static_cast<int>(params.columns / kMoeTileK);
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[stage.at]), stage.parity);
    __syncwarp();
    release<kGateUp>(shared, stage);
    stage.next();
  }
}

template <bool kGateUp, int Blocks = kMoeMostTokens / 16>
__device__ __forceinline__ void compute_blocks(GroupedShared& shared, const GroupedParams& params,
                                               const GroupedItem& item, int group, int32_t* entries,
                                               GroupedStage& stage) {
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
  constexpr int kArrivals = kMoeComputeThreads / kWarp * (kGateUp ? 1 : kMoeCluster);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kMoeStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), kGateUp ? kMoeProducers + 1 : 1);
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
  GroupedStage stage;
  if (group == kMoeComputeThreads / 128) {
    shrink_registers<40>();
    while (items.more()) {
      const GroupedItem item = items.take();
      if constexpr (kGateUp) {
        gather_item(shared, weights, params, item, stage);
      } else if (threadIdx.x == kMoeComputeThreads) {
        copy_item(shared, weights, tokens, params, item, rank, stage);
      }
    }
  } else {
    grow_registers<232>();
    int parity = 0;  // of the items with tokens: two of them have a barrier between
    while (items.more()) {
      const GroupedItem item = items.take();
      if (item.tokens > 0) {
        compute_blocks<kGateUp>(shared, params, item, group, shared.entries[parity][group], stage);
        parity ^= 1;
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
      make_tensor_map(params.x, x_rows, params.columns, params.x_stride, kMoeBoxTokens), params);
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
