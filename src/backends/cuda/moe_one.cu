// A whole block of experts for one token in one launch, for the widths of the 35B-A3B and the
// 80B-A3B. A thread block a multiprocessor stays from the norm to the residual and meets the others
// twice: when the router's results are there, and when all rows of gate and up are. A warp has 8
// KiB of weights on the way in registers, and each piece that it has multiplied makes room for the
// next, through gate and up into down, so that memory is never idle once the experts are known.
// Sums have the order of moe_route.cu and moe_few.cu, and so their bits.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/moe_one_parts.cuh"
#include "backends/cuda/moe_one_route.cuh"

namespace deltaserve::cuda {
namespace {

// This lane's place in one of the block's units of gate and up, chains of tiles.
__device__ __forceinline__ const bf16* gate_up_unit(const MoeOne& block, const MoeOneShared& shared,
                                                    int unit) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int tile = static_cast<int>(blockIdx.x) + unit / kOneChains * kOneGrid;
  const int64_t row = int64_t{shared.ids[tile / kOneTiles]} * (2 * kOneI) +
                      tile % kOneTiles * kSkinnyRows + lane / 4;
  return block.gate_up + row * kOneH + unit % kOneChains * kSkinnyPiece + lane % 4 * 8;
}

// And of down, an expert's columns in halves.
__device__ __forceinline__ const bf16* down_unit(const MoeOne& block, const MoeOneShared& shared,
                                                 int unit) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = int64_t{blockIdx.x} * kSkinnyRows + lane / 4;
  return block.down + (int64_t{shared.ids[unit / kOneHalves]} * kOneH + row) * kOneI +
         unit % kOneHalves * (kOneI / kOneHalves) + lane % 4 * 8;
}

// The block's tiles of gate and up; the ring ends with the warp's first unit of down. Warp 0 leaves
// it empty: its fence would wait for what is on the way.
__device__ __forceinline__ void multiply_gate_up(const MoeOne& block, int tiles, WeightRing& ring,
                                                 MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int units = tiles * kOneChains;
  constexpr int kStep = kOneChains * kSkinnyPiece;  // between the pieces of a chain
  if (warp < units) {
    const bf16* first = gate_up_unit(block, shared, warp);
#pragma unroll
    for (int p = 0; p < kOneRingPieces; ++p) {
      load_piece(first + p * kStep, kOneH, ring[p]);
    }
  }
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kOneWarps) {
    const bool again = unit + kOneWarps < units;
    const bool more = again || (warp != 0 && warp < block.K * kOneHalves);
    const bf16* next = again ? gate_up_unit(block, shared, unit + kOneWarps)
                             : down_unit(block, shared, more ? warp : 0);
    const int64_t columns = again ? kOneH : kOneI;
    const int step = again ? kStep : kSkinnyPiece;
    const bf16* x = shared.x + unit % kOneChains * kSkinnyPiece + lane % 4 * 8;
    float sums[4] = {};
#pragma unroll
    for (int p = 0; p < kOneRingPieces; ++p) {
      multiply_piece(ring[p], x + p * kStep, sums);
      if (more) {
        load_piece(next + p * step, columns, ring[p]);
      }
    }
    keep_chain(sums, shared.chains.gate_up[unit / kOneChains][unit % kOneChains]);
  }
}

// By warp 0: what the block's tiles come to, and waiting for those of all.
__device__ __forceinline__ void meet(const MoeOne& block, int tiles, WeightRing& ring,
                                     MoeOneShared& shared) {
  const auto lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < tiles * kGateUpGroup; i += kWarp) {
    const auto& chains = shared.chains.gate_up[i / kGateUpGroup];
    const int row = i % static_cast<int>(kGateUpGroup);
    const float gate = add_chains(chains, row);
    const float up = add_chains(chains, row + static_cast<int>(kGateUpGroup));
    const int64_t tile = int64_t{blockIdx.x} + i / kGateUpGroup * kOneGrid;
    block.act[tile * kGateUpGroup + row] = from_float<bf16>(silu(gate) * up);
  }
  __syncwarp();
  if (lane == 0) {
    count_up(&block.meeting->gated);
  }
  __syncwarp();
#pragma unroll
  for (int p = 0; p < kOneRingPieces; ++p) {
    load_piece(down_unit(block, shared, 0) + p * kSkinnyPiece, kOneI, ring[p]);
  }
  if (lane == 0) {
    wait_for_count(&block.meeting->gated, kOneGrid);
  }
}

// The block's rows of down of all experts, chains.down; the shared one's last.
__device__ __forceinline__ void multiply_down(const MoeOne& block, WeightRing& ring,
                                              MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int units = block.K * kOneHalves;
  const bool has_shared = warp < kOneChains;
  const int column = warp * kSkinnyPiece;  // of the shared expert's
  uint4 shared_part = make_uint4(0, 0, 0, 0);
  if (has_shared && lane < kSkinnyPiece / 8) {
    shared_part = __ldcg(reinterpret_cast<const uint4*>(block.shared_act + column) + lane);
  }
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kOneWarps) {
    const int k = unit / kOneHalves;
    const int half = unit % kOneHalves;
    *reinterpret_cast<uint4*>(shared.act[warp] + lane * 8) = __ldcg(
        reinterpret_cast<const uint4*>(block.act + k * kOneI + half * (kOneI / kOneHalves)) + lane);
    __syncwarp();
    const bool more = unit + kOneWarps < units;
    const bf16* next = down_unit(block, shared, more ? unit + kOneWarps : unit);
#pragma unroll
    for (int p = 0; p < kOneRingPieces; ++p) {
      float sums[4] = {};
      multiply_piece(ring[p], shared.act[warp] + p * kSkinnyPiece + lane % 4 * 8, sums);
      if (more) {
        load_piece(next + p * kSkinnyPiece, kOneI, ring[p]);
      }
      keep_chain(sums, shared.chains.down[k][half * kOneRingPieces + p]);
    }
    __syncwarp();
  }
  if (has_shared) {
    if (lane < kSkinnyPiece / 8) {
      *reinterpret_cast<uint4*>(shared.shared_act + column + lane * 8) = shared_part;
    }
    __syncwarp();
    WeightPiece piece;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      piece[i / 2][i % 2] = *reinterpret_cast<const uint4*>(
          &shared.shared_down[lane / 4 + i / 2 * 8]
                             [column + lane % 4 * 8 + i % 2 * (kSkinnyPiece / 2)]);
    }
    float sums[4] = {};
    multiply_piece(piece, shared.shared_act + column + lane % 4 * 8, sums);
    keep_chain(sums, shared.chains.down[block.K][warp]);
  }
}

// The experts' sum in ascending id with the shared one, added to the residual.
__device__ __forceinline__ void add_experts(const MoeOne& block, MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < (block.K + 1) * kSkinnyRows; i += kOneThreads) {
    const int row = i % kSkinnyRows;
    shared.dots[i / kSkinnyRows][row] = add_chains(shared.chains.down[i / kSkinnyRows], row);
  }
  __syncthreads();
  if (thread < kSkinnyRows) {
    float sum = 0.0F;
    for (int k = 0; k < block.K; ++k) {
      sum = __fmaf_rn(shared.weights[k], shared.dots[k][thread], sum);
    }
    block.residual[int64_t{blockIdx.x} * kSkinnyRows + thread] =
        shared.before[thread] + __fmaf_rn(shared.gate, shared.dots[block.K][thread], sum);
  }
}

template <int kSlots>
__global__ void __launch_bounds__(kOneThreads, 1) moe_one_kernel(const MoeOne block) {
  __shared__ MoeOneShared shared;
  const auto thread = static_cast<int>(threadIdx.x);
  const bool leads = thread < kWarp;
  let_next_start();
  WeightRing ring;
  const RoutingTile tile = routing_tile(block);
  if (tile.works) {
    load_routing(block, tile, ring);
  }
  float factors[4];
  load(block.norm_weight + thread * 4, factors);
  fetch_shared_down(block, shared);
  wait_for_previous_behind_loads(block.E < 0);
  norm_row(block, factors, shared);
  if (tile.works) {
    multiply_routing(block, tile, ring, shared);
  }
  if (leads) {
    choose<kSlots>(block, shared);
  }
  __syncthreads();
  const int tiles = (block.K * kOneTiles - static_cast<int>(blockIdx.x) + kOneGrid - 1) / kOneGrid;
  multiply_gate_up(block, tiles, ring, shared);
  __pipeline_wait_prior(0);
  __syncthreads();
  if (leads) {
    meet(block, tiles, ring, shared);
  }
  __syncthreads();
  // Everybody has read the router's results; the last to say so clears them for the next launch.
  __shared__ bool clears;
  const bool counts = thread == kOneThreads - 1;
  const int32_t passed = counts ? atomicAdd(&block.meeting->passed, 1) : 0;
  multiply_down(block, ring, shared);
  if (counts) {
    clears = passed == kOneGrid - 1;
  }
  __syncthreads();
  if (clears) {
    for (int i = thread; i < block.router_rows; i += kOneThreads) {
      block.meeting->results[i] = 0;
    }
    if (counts) {
      block.meeting->gated = 0;
      block.meeting->passed = 0;
    }
  }
  add_experts(block, shared);
}

}  // namespace

bool serves_moe_one(const CudaContext& context, const MoeBlockArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  // Its thread blocks wait for each other, so all of them must find room at once.
  return args.T == 1 && context.device.arch >= kEarlyLaunchArch &&
         context.device.num_sms >= kOneGrid && args.H == kOneH && experts.I == kOneI &&
         args.shared_gate_up->I == kOneI && experts.E <= kOneMostE && args.K <= kOneMostK &&
         args.K * kOneHalves >= kOneChains;
}

void launch_moe_one(CudaContext& context, const MoeBlockArgs& args, const MoeBuffers& buffers) {
  const auto elements = [](const CudaMemory& memory) {
    return static_cast<const bf16*>(memory.data());
  };
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const MoeOne block{
      .residual = args.residual,
      .delta = args.delta,
      .norm_weight = args.norm_weight,
      .eps = args.eps,
      .router = elements(static_cast<const CudaLinear&>(*args.router).values),
      .router_rows = static_cast<int32_t>(args.router->N),
      .shared_gate_up = elements(static_cast<const CudaGateUp&>(*args.shared_gate_up).values),
      .gate_up = elements(experts.gate_up),
      .down = elements(experts.down),
      .shared_down = elements(static_cast<const CudaLinear&>(*args.shared_down).values),
      .E = static_cast<int32_t>(experts.E),
      .K = args.K,
      .renormalize = args.renormalize,
      .act = static_cast<bf16*>(buffers.act),
      .shared_act = static_cast<bf16*>(args.inner),
      .meeting =
          reinterpret_cast<OneMeeting*>(context.zeros(sizeof(OneMeeting) / sizeof(int32_t)))};
  const auto kernel =
      experts.E <= kFewSlots * kWarp ? moe_one_kernel<kFewSlots> : moe_one_kernel<2 * kFewSlots>;
  launch_early(context, kernel, {.grid = dim3(kOneGrid), .block = dim3(kOneThreads)}, block);
}

}  // namespace deltaserve::cuda
