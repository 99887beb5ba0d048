// Entries (token, choice) in order of expert, then token, and the row tiles of the products. No
// order depends on chance: a token chooses an expert once, so that the tokens of an expert are a
// set of bits, and their number and a token's place among them are counts of bits. A thread block
// takes a piece of the tokens and counts; a second launch adds up the pieces and puts every entry
// in its place. A decode step is one piece and one launch. moe_topk can be made on the way.
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_choose.cuh"
#include "backends/cuda/moe_kernels.h"
#include "base/check.h"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = static_cast<int>(kMoeMostExperts);  // one an expert
constexpr int kWarps = kThreads / kWarp;
constexpr int kPiece = static_cast<int>(kMoeDecodeTokens);  // tokens of a thread block
constexpr int kWords = kPiece / 32;

struct SortParams {
  MoeTopkArgs topk;  // logits are not read where the choice is made
  MoeSort sort;
};

struct SortShared {
  uint32_t tokens[kThreads][kWords];  // of each expert, in this block's piece
  int place[kThreads];                // of each expert's first entry of the piece
  int partial[kWarps];
};

// Sum of `value` over the threads before this one. `partial` has room for kWarps.
__device__ int sum_before(int value, int* partial) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int sum = value;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, offset);
    sum += lane >= offset ? other : 0;
  }
  if (lane == kWarp - 1) {
    partial[warp] = sum;
  }
  __syncthreads();
  int before = sum - value;
  for (int w = 0; w < warp; ++w) {
    before += partial[w];
  }
  __syncthreads();
  return before;
}

// Marks the experts of each token of the piece, after choosing them if kSlots > 0.
template <int kSlots>
__device__ __forceinline__ void mark_tokens(const MoeTopkArgs& topk, SortShared& shared) {
  for (uint32_t& word : shared.tokens[threadIdx.x]) {
    word = 0;
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = static_cast<int>(threadIdx.x) / kWarp; i < kPiece; i += kWarps) {
    const int64_t t = int64_t{blockIdx.x} * kPiece + i;
    if (t < topk.T) {
      int32_t* ids = topk.expert_ids + t * topk.K;
      if constexpr (kSlots > 0) {
        choose_experts<kSlots>(topk.logits + t * topk.logits_stride, topk.E, topk.K,
                               topk.renormalize, ids, topk.weights + t * topk.K);
        __syncwarp();
      }
      for (int k = lane; k < topk.K; k += kWarp) {
        atomicOr(&shared.tokens[ids[k]][i / 32], 1U << i % 32);
      }
    }
  }
  __syncthreads();
}

__device__ __forceinline__ int count_tokens(const SortShared& shared) {
  int count = 0;
  for (const uint32_t word : shared.tokens[threadIdx.x]) {
    count += __popc(word);
  }
  return count;
}

// Writes the piece's entries to their places. `before`: entries of this thread's expert in earlier
// pieces; `all`: in all of them. One block writes the tiles: an expert's entries cut into parts of
// about the same size.
__device__ __forceinline__ void place_entries(const SortParams& params, int before, int all,
                                              SortShared& shared) {
  const auto expert = static_cast<int>(threadIdx.x);
  constexpr auto kMostRows = static_cast<int>(kMoeTileRows);
  const int tiles = (all + kMostRows - 1) / kMostRows;
  const int first = sum_before(all, shared.partial);
  const int first_tile = sum_before(tiles, shared.partial);
  shared.place[expert] = first + before;
  if (blockIdx.x == 0) {
    const int rows = (all + max(tiles, 1) - 1) / max(tiles, 1);
    for (int i = 0; i < tiles; ++i) {
      params.sort.tile_expert[first_tile + i] = expert;
      params.sort.tile_first[first_tile + i] = first + i * rows;
      params.sort.tile_rows[first_tile + i] = min(rows, all - i * rows);
    }
    if (expert == kThreads - 1) {
      *params.sort.num_tiles = first_tile + tiles;
    }
  }
  __syncthreads();
  const MoeTopkArgs& topk = params.topk;
  const int64_t first_token = int64_t{blockIdx.x} * kPiece;
  const auto entries = static_cast<int>(min(int64_t{kPiece}, topk.T - first_token)) * topk.K;
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kThreads) {
    const int64_t entry = first_token * topk.K + i;
    const int t = i / topk.K;
    const int id = topk.expert_ids[entry];
    const uint32_t* tokens = shared.tokens[id];
    int place = shared.place[id] + __popc(tokens[t / 32] & ((1U << t % 32) - 1U));
    for (int w = 0; w < t / 32; ++w) {
      place += __popc(tokens[w]);
    }
    params.sort.sorted[place] = static_cast<int32_t>(entry);
  }
}

// counts [pieces][kThreads].
template <int kSlots>
__global__ void __launch_bounds__(kThreads) moe_count_kernel(SortParams params) {
  __shared__ SortShared shared;
  let_next_start();
  wait_for_previous();
  mark_tokens<kSlots>(params.topk, shared);
  params.sort.counts[int64_t{blockIdx.x} * kThreads + threadIdx.x] = count_tokens(shared);
}

__global__ void __launch_bounds__(kThreads) moe_place_kernel(SortParams params) {
  __shared__ SortShared shared;
  let_next_start();
  wait_for_previous();
  mark_tokens<0>(params.topk, shared);
  const int* counts = params.sort.counts + threadIdx.x;
  const auto pieces = static_cast<int>(gridDim.x);
  int before = 0;
  int all = 0;
#pragma unroll 8
  for (int piece = 0; piece < pieces; ++piece) {
    const int count = counts[piece * kThreads];
    before += piece < static_cast<int>(blockIdx.x) ? count : 0;
    all += count;
  }
  place_entries(params, before, all, shared);
}

// One piece.
template <int kSlots>
__global__ void __launch_bounds__(kThreads) moe_sort_kernel(SortParams params) {
  __shared__ SortShared shared;
  let_next_start();
  wait_for_previous();
  mark_tokens<kSlots>(params.topk, shared);
  place_entries(params, 0, count_tokens(shared), shared);
}

int64_t pieces_of(int64_t T) {
  return ceil_div<int64_t>(T, kPiece);
}

int64_t max_tiles(int64_t entries, int64_t E) {
  return entries / kMoeTileRows + E;
}

template <int kSlots>
void launch_sort(CudaContext& context, const SortParams& params) {
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(pieces_of(params.topk.T))),
                          .block = dim3(kThreads)};
  if (params.topk.T <= kPiece) {
    launch_early(context, moe_sort_kernel<kSlots>, shape, params);
  } else {
    launch_early(context, moe_count_kernel<kSlots>, shape, params);
    launch_early(context, moe_place_kernel, shape, params);
  }
}

}  // namespace

int64_t moe_sort_size(int64_t T, int64_t K, int64_t E) {
  return pieces_of(T) * kThreads + T * K + 1 + 3 * max_tiles(T * K, E);
}

MoeSort moe_sort_arrays(int32_t* memory, int64_t T, int64_t K, int64_t E) {
  const int64_t tiles = max_tiles(T * K, E);
  int32_t* const sorted = memory + pieces_of(T) * kThreads;
  int32_t* const tile_arrays = sorted + T * K + 1;
  return {.counts = memory,
          .sorted = sorted,
          .num_tiles = sorted + T * K,
          .tile_expert = tile_arrays,
          .tile_first = tile_arrays + tiles,
          .tile_rows = tile_arrays + 2 * tiles};
}

void launch_moe_sort(CudaContext& context, const MoeArgs& args, const MoeSort& sort) {
  launch_sort<0>(context, {.topk = {.T = args.T,
                                    .E = static_cast<int32_t>(args.experts->E),
                                    .K = args.K,
                                    .expert_ids = const_cast<int32_t*>(args.expert_ids)},
                           .sort = sort});
}

void launch_moe_topk_sort(CudaContext& context, const MoeTopkArgs& args, const MoeSort& sort) {
  DS_CHECK(args.E <= kMoeMostExperts);
  with_slots(args.E,
             [&](auto slots) { launch_sort<slots.value>(context, {.topk = args, .sort = sort}); });
}

}  // namespace deltaserve::cuda
