// A whole block of experts for a handful of tokens in three launches, bound by reading the chosen
// experts once. `route`: the norm, recomputed by every thread block, then the router's rows and the
// shared expert's gate and up. `gate_up`: every thread block chooses the experts itself from the
// router's results and multiplies rows of one of them. `down`: a thread block takes 16 rows of H of
// one token, chooses again, has its weights of all the token's experts under way before the launch
// before it has ended, and adds their sum to the residual.
#include <algorithm>

#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_choose.cuh"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/moe_skinny.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kTokens = static_cast<int>(kMoeFewTokens);
constexpr int kMostK = 32;  // experts of a token

// 32 rows of one expert; 64 and 16 are slower, and so are loads further ahead.
using GateUpForm = SkinnyForm<2, 1, 8, false, 3>;
constexpr int kMostEntries = kTokens * kMostK;

struct GateUpParams {
  const float* logits;  // [T][logits_stride]
  int64_t logits_stride;
  int32_t T;
  int32_t E;
  int32_t K;
  ExpertProduct product;
};

// blockIdx.y is an entry, whose thread block serves all entries of its expert unless an earlier
// entry's does.
template <int kSlots>
__global__ void __launch_bounds__(GateUpForm::kThreads, GateUpForm::kBlocks)
    moe_few_gate_up_kernel(GateUpParams params) {
  __shared__ SkinnySums<GateUpForm> sums;
  __shared__ int32_t ids[kMostEntries];
  __shared__ int32_t list[kTokens];  // an expert has at most one entry of a token
  __shared__ int count;
  wait_for_previous();
  let_next_start();
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  if (warp < params.T) {
    choose_experts<kSlots, false>(params.logits + warp * params.logits_stride, params.E, params.K,
                                  false, ids + warp * params.K, nullptr);
  }
  __syncthreads();
  const auto y = static_cast<int>(blockIdx.y);
  const int expert = ids[y];
  if (warp == 0) {
    int found = 0;
    for (int base = 0; base < params.T * params.K; base += kWarp) {
      const int i = base + thread;
      const bool hit = i < params.T * params.K && ids[i] == expert;
      const unsigned hits = __ballot_sync(kAllLanes, hit);
      if (hit) {
        list[found + __popc(hits & ((1U << thread) - 1U))] = i;
      }
      found += __popc(hits);
    }
    __syncwarp();
    if (thread == 0) {
      count = list[0] == y ? found : 0;
    }
  }
  __syncthreads();
  const int64_t first_row = int64_t{blockIdx.x} * GateUpForm::kRowTiles * kSkinnyRows;
  multiply_expert<GateUpForm, true>(params.product, expert, first_row, list, count, sums);
}

struct DownParams {
  const float* logits;  // [T][logits_stride]: experts, then the shared one's gate
  int64_t logits_stride;
  int32_t E;
  int32_t K;
  bool renormalize;
  const bf16* weight;  // [E][H][I]
  const bf16* act;     // [T K][I]
  int64_t I;
  const bf16* shared_weight;  // [H][shared_I]
  const bf16* shared_act;     // [T][shared_stride]
  int64_t shared_I;
  int64_t shared_stride;
  int64_t H;
  float* residual;     // [T][H]
  const float* delta;  // [T][H] or null
};

// Sums of an expert's rows are kept apart as those of eight warps are in skinny_tile.cuh, each over
// every eighth piece of K, and added in order: the bits of the separate products.
constexpr int kChains = 8;
constexpr int kUnitChains = 4;  // of one warp at a time
constexpr int kUnits = kChains / kUnitChains;
// Warps of a thread block: two blocks fit a multiprocessor, each with half its weights ahead.
constexpr int kMostDownWarps = 9;

// One unit's weights under way: the first piece of each of its chains.
struct UnitPieces {
  uint4 w[kUnitChains][2][2];  // row g or g + 8, 16-byte piece t or t + 4

  // `at`: this lane's place in row g of the tile's first piece of the unit.
  __device__ __forceinline__ void load(const bf16* at, int64_t K, int pieces, int first) {
#pragma unroll
    for (int c = 0; c < kUnitChains; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        w[c][i / 2][i % 2] = make_uint4(0, 0, 0, 0);
        if (first + c < pieces) {
          w[c][i / 2][i % 2] =
              load_once(at + i / 2 * 8 * K + c * kSkinnyPiece + i % 2 * (kSkinnyPiece / 2));
        }
      }
    }
  }
  // sums += the pieces times those of x, of which only lanes 0 to 3 hold a column.
  __device__ __forceinline__ void multiply(const bf16* x, int pieces, int first,
                                           float (&sums)[kUnitChains][4]) const {
#pragma unroll
    for (int c = 0; c < kUnitChains; ++c) {
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        uint4 b = make_uint4(0, 0, 0, 0);
        if (first + c < pieces && threadIdx.x % kWarp < 4) {
          b = *reinterpret_cast<const uint4*>(x + c * kSkinnyPiece + p * (kSkinnyPiece / 2));
        }
        const uint4& l = w[c][0][p];
        const uint4& h = w[c][1][p];
        mma_bf16(sums[c], l.x, h.x, l.y, h.y, b.x, b.y);
        mma_bf16(sums[c], l.z, h.z, l.w, h.w, b.z, b.w);
      }
    }
  }
};

// Half of the chains of one expert's 16 rows with one row of x; chains[c][row].
__device__ __forceinline__ void multiply_unit(const bf16* tile, const bf16* x, int64_t K,
                                              int first_chain, float* chains) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto pieces = static_cast<int>(K / kSkinnyPiece);
  const int64_t offset = first_chain * kSkinnyPiece + lane % 4 * 8;
  const bf16* at = tile + lane / 4 * K + offset;
  UnitPieces now;
  now.load(at, K, pieces, first_chain);
  wait_for_previous_behind_loads(K < 0);
  float sums[kUnitChains][4] = {};
  for (int first = first_chain; first < pieces; first += kChains) {
    if (first > first_chain) {
      now.load(at, K, pieces, first);
    }
    now.multiply(x + offset + (first - first_chain) * kSkinnyPiece, pieces, first, sums);
    at += kChains * kSkinnyPiece;
  }
  if (lane % 4 == 0) {
#pragma unroll
    for (int c = 0; c < kUnitChains; ++c) {
      chains[(first_chain + c) * kSkinnyRows + lane / 4] = sums[c][0];
      chains[(first_chain + c) * kSkinnyRows + lane / 4 + 8] = sums[c][2];
    }
  }
}

// Dynamic shared memory: float [K + 1][kChains][16], the last of the shared expert.
template <int kSlots>
__global__ void __launch_bounds__(kMostDownWarps* kWarp, 2) moe_few_down_kernel(DownParams params) {
  extern __shared__ float chains[];
  __shared__ int32_t ids[kMostK];
  __shared__ float weights[kMostK];
  __shared__ float dots[kMostK + 1][kSkinnyRows];
  const int64_t t = blockIdx.y;
  const int64_t first_row = int64_t{blockIdx.x} * kSkinnyRows;
  const auto thread = static_cast<int>(threadIdx.x);
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  // `route` has ended, and all before it: gate_up waited for it before it let this kernel start.
  const float* logits = params.logits + t * params.logits_stride;
  if (thread < kWarp) {
    choose_experts<kSlots>(logits, params.E, params.K, params.renormalize, ids, weights);
  }
  const int64_t at = t * params.H + first_row + thread;
  float before = 0.0F;
  float gate = 0.0F;
  if (thread < kSkinnyRows) {
    before =
        __ldcg(params.residual + at) + (params.delta == nullptr ? 0.0F : __ldcg(params.delta + at));
    gate = sigmoid(__ldcg(logits + params.E));
  }
  __syncthreads();
  for (int unit = thread / kWarp; unit < (params.K + 1) * kUnits; unit += num_warps) {
    const int k = unit / kUnits;
    const bool shared = k == params.K;
    const int64_t columns = shared ? params.shared_I : params.I;
    const bf16* tile = shared ? params.shared_weight + first_row * columns
                              : params.weight + (ids[k] * params.H + first_row) * columns;
    const bf16* x = shared ? params.shared_act + t * params.shared_stride
                           : params.act + (t * params.K + k) * columns;
    multiply_unit(tile, x, columns, unit % kUnits * kUnitChains,
                  chains + k * kChains * kSkinnyRows);
  }
  // Not sooner: the products behind ask for their first weights at once, which these would wait
  // for.
  let_next_start();
  wait_for_previous();
  __syncthreads();
  for (int i = thread; i < (params.K + 1) * kSkinnyRows; i += static_cast<int>(blockDim.x)) {
    const float* chain = chains + i / kSkinnyRows * kChains * kSkinnyRows + i % kSkinnyRows;
    float sum = 0.0F;
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      sum += chain[c * kSkinnyRows];
    }
    dots[i / kSkinnyRows][i % kSkinnyRows] = sum;
  }
  __syncthreads();
  if (thread < kSkinnyRows) {
    float sum = 0.0F;
    for (int k = 0; k < params.K; ++k) {
      sum = __fmaf_rn(weights[k], dots[k][thread], sum);
    }
    params.residual[at] = before + __fmaf_rn(gate, dots[params.K][thread], sum);
  }
}

void launch_gate_up(CudaContext& context, const MoeBlockArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const GateUpParams params{.logits = args.logits,
                            .logits_stride = args.logits_stride,
                            .T = static_cast<int32_t>(args.T),
                            .E = static_cast<int32_t>(experts.E),
                            .K = args.K,
                            .product = {.weight = static_cast<const bf16*>(experts.gate_up.data()),
                                        .rows = 2 * experts.I,
                                        .columns = experts.H,
                                        .x = static_cast<const bf16*>(args.x),
                                        .x_stride = args.H,
                                        .x_entries = args.K,
                                        .out = buffers.act,
                                        .out_stride = experts.I}};
  const LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(2 * experts.I / (GateUpForm::kRowTiles * kSkinnyRows)),
                   static_cast<unsigned>(args.T * args.K)),
      .block = dim3(GateUpForm::kThreads)};
  with_slots(experts.E, [&](auto slots) {
    launch_early(context, moe_few_gate_up_kernel<slots.value>, shape, params);
  });
}

void launch_down(CudaContext& context, const MoeBlockArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const auto& shared_down = static_cast<const CudaLinear&>(*args.shared_down);
  const DownParams params{.logits = args.logits,
                          .logits_stride = args.logits_stride,
                          .E = static_cast<int32_t>(experts.E),
                          .K = args.K,
                          .renormalize = args.renormalize,
                          .weight = static_cast<const bf16*>(experts.down.data()),
                          .act = static_cast<const bf16*>(buffers.act),
                          .I = experts.I,
                          .shared_weight = static_cast<const bf16*>(shared_down.values.data()),
                          .shared_act = static_cast<const bf16*>(args.inner),
                          .shared_I = shared_down.K,
                          .shared_stride = args.inner_stride,
                          .H = args.H,
                          .residual = args.residual,
                          .delta = args.delta};
  const int warps = std::min(kMostDownWarps, (args.K + 1) * kUnits);
  const LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(args.H / kSkinnyRows), static_cast<unsigned>(args.T)),
      .block = dim3(static_cast<unsigned>(warps * kWarp)),
      .shared_bytes = static_cast<size_t>((args.K + 1) * kChains * kSkinnyRows) * sizeof(float)};
  with_slots(experts.E, [&](auto slots) {
    launch_early(context, moe_few_down_kernel<slots.value>, shape, params);
  });
}

}  // namespace

bool serves_moe_few(const CudaContext& context, const MoeBlockArgs& args) {
  return context.device.arch >= kEarlyLaunchArch && args.T <= kMoeFewTokens && args.K <= kMostK;
}

void launch_moe_few(CudaContext& context, const MoeBlockArgs& args, const MoeBuffers& buffers) {
  launch_moe_norm_route(context, args);
  launch_gate_up(context, args, buffers);
  launch_down(context, args, buffers);
}

}  // namespace deltaserve::cuda
