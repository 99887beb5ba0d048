// A whole block of experts for one token in one launch, for the widths of the 35B-A3B and the
// 80B-A3B. A thread block a multiprocessor stays from the norm to the residual and meets the others
// twice: for the router's results, and each warp for the rows of gate and up that it needs. A warp
// has 8 KiB of weights on the way in registers, and each piece that it has multiplied makes room
// for the next; down comes while blocks wait for each other's gate and up. Sums have the order of
// moe_route.cu and moe_few.cu, and so their bits.
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/moe_one_args.cuh"
#include "backends/cuda/moe_one_meeting.cuh"
#include "backends/cuda/moe_one_norm.cuh"
#include "backends/cuda/moe_one_pieces.cuh"
#include "backends/cuda/moe_one_route.cuh"
#include "backends/cuda/moe_one_shape.cuh"
#include "backends/cuda/scratch_plan.h"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kGateUpStep = kOneChains * kSkinnyPiece;  // between the pieces of a chain
// Pieces of down that a warp asks for before its block has all of gate and up: more of them would
// come in front of the gate and up of blocks that are behind, for which all wait.
constexpr int kDownPieces = 1;
// Weights on their way are in the part of a multiprocessor's 256 KiB that is not shared memory, and
// without a wish it stays as the kernel before had it: attention leaves 28. A block needs 46 of
// shared memory, the five of norm_product.cu behind it 66: with 28 %, which is 64, a step is 0.5 %
// longer.
constexpr int kSharedPercent = 44;

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

// The first of the warp's tiles of gate and up asked for.
__device__ __forceinline__ void begin_gate_up(const MoeOne& block, WeightRing& ring,
                                              const MoeOneShared& shared) {
  const bf16* first = gate_up_unit(block, shared, static_cast<int>(threadIdx.x) / kWarp);
#pragma unroll
  for (int p = 0; p < kOneRingPieces; ++p) {
    load_piece(first + p * kGateUpStep, kOneH, ring[p]);
  }
}

// Pieces kFirst to kEnd of the warp's first unit of down, if it has one.
template <int kFirst, int kEnd>
__device__ __forceinline__ void begin_down(const MoeOne& block, WeightRing& ring,
                                           const MoeOneShared& shared) {
  const int unit = static_cast<int>(threadIdx.x) / kWarp;
  if (unit < block.K * kOneHalves) {
    const bf16* first = down_unit(block, shared, unit);
#pragma unroll
    for (int p = kFirst; p < kEnd; ++p) {
      load_piece(first + p * kSkinnyPiece, kOneI, ring[p]);
    }
  }
}

// The block's tiles of gate and up, eight warps a tile; what a tile comes to is published by one of
// them. Every warp has a unit (serves_moe_one), and ends with kDownPieces of down on their way if
// it has any of that.
__device__ __forceinline__ void multiply_gate_up(const MoeOne& block, int tiles, WeightRing& ring,
                                                 MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int units = tiles * kOneChains;
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kOneWarps) {
    const bool more = unit + kOneWarps < units;
    const bf16* next = gate_up_unit(block, shared, more ? unit + kOneWarps : unit);
    const bf16* x = shared.x + unit % kOneChains * kSkinnyPiece + lane % 4 * 8;
    float sums[4] = {};
#pragma unroll
    for (int p = 0; p < kOneRingPieces; ++p) {
      multiply_piece(ring[p], x + p * kGateUpStep, sums);
      if (more) {
        load_piece(next + p * kGateUpStep, kOneH, ring[p]);
      }
    }
    if (!more) {
      begin_down<0, kDownPieces>(block, ring, shared);
    }
    const int tile = unit / kOneChains;
    keep_chain(sums, shared.chains.gate_up[tile][unit % kOneChains]);
    if (warp % kOneChains != kOneChains - 1) {
      named_barrier_arrive<kOneChains * kWarp>(1 + tile);
    } else {
      named_barrier<kOneChains * kWarp>(1 + tile);
      const int64_t place = int64_t{blockIdx.x} + tile * kOneGrid;
      publish_act(shared.chains.gate_up[tile], block.meeting->act + place * kGateUpGroup / 2,
                  shared.launch);
    }
  }
}

// This lane's eight of a unit's half of an expert's act, once they are there.
__device__ __forceinline__ uint4 wait_for_act(const MoeOne& block, const MoeOneShared& shared,
                                              int unit) {
  const auto lane = static_cast<int>(threadIdx.x) % kWarp;
  const MeetingWord* place = block.meeting->act + unit * (kOneI / kOneHalves / 2) + lane * 4;
  MeetingWord words[4];
  bool all;
  do {
    look_at_four(place, words);
    all = true;
#pragma unroll
    for (const MeetingWord word : words) {
      all = all && is_of(word, shared.launch);
    }
  } while (!all);
  return make_uint4(value_of(words[0]), value_of(words[1]), value_of(words[2]), value_of(words[3]));
}

// The block's rows of down of all experts, chains.down.
__device__ __forceinline__ void multiply_down(const MoeOne& block, WeightRing& ring,
                                              MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int units = block.K * kOneHalves;
#pragma unroll 1
  for (int unit = warp; unit < units; unit += kOneWarps) {
    const int k = unit / kOneHalves;
    const int half = unit % kOneHalves;
    *reinterpret_cast<uint4*>(shared.act[warp] + lane * 8) = wait_for_act(block, shared, unit);
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
  float results[kSlots];
  ExpertChoice choice{};
  if (leads) {
    choice = choose(block, shared, results);
  } else if (thread >= kOneThreads - kOneChains * kWarp) {
    multiply_shared_down(block, shared);
  }
  __syncthreads();
  begin_gate_up(block, ring, shared);
  if (leads) {
    weigh(block, shared, results, choice);
  }
  const int tiles = (block.K * kOneTiles - static_cast<int>(blockIdx.x) + kOneGrid - 1) / kOneGrid;
  multiply_gate_up(block, tiles, ring, shared);
  __syncthreads();
  begin_down<kDownPieces, kOneRingPieces>(block, ring, shared);
  multiply_down(block, ring, shared);
  __syncthreads();
  add_experts(block, shared);
}

}  // namespace

bool serves_moe_one(const CudaContext& context, const MoeBlockArgs& args) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  // Its thread blocks wait for each other, so all of them must find room at once.
  return args.T == 1 && context.device.arch >= kEarlyLaunchArch &&
         context.device.num_sms >= kOneGrid && args.H == kOneH && experts.I == kOneI &&
         args.shared_gate_up->I == kOneI && experts.E <= kOneMostE && args.K <= kOneMostK &&
         args.K * kOneTiles / kOneGrid * kOneChains >= kOneWarps;
}

void launch_moe_one(CudaContext& context, const MoeBlockArgs& args) {
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
      .meeting = static_cast<OneMeeting*>(context.meeting(sizeof(OneMeeting)))};
  const auto kernel =
      experts.E <= kFewSlots * kWarp ? moe_one_kernel<kFewSlots> : moe_one_kernel<2 * kFewSlots>;
  prefer_shared(kernel, kSharedPercent);
  launch_early(context, kernel, {.grid = dim3(kOneGrid), .block = dim3(kOneThreads)}, block);
}

}  // namespace cuda

int64_t moe_one_meeting_bytes() {
  return sizeof(cuda::OneMeeting);
}

}  // namespace deltaserve
