// The experts' products for few tokens: a thread block multiplies a few rows of one active expert
// with that expert's tokens, so that the matrices of active experts are read once at the speed of
// memory (skinny_tile.cuh).
#include <type_traits>

#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {
namespace {

// Enough rows a block that finding its entries is the smaller part: 32 of gate_up, whose rows are
// long, and 64 of down.
template <bool kGateUp>
using MoeForm =
    std::conditional_t<kGateUp, SkinnyForm<2, 1, 8, false, 3>, SkinnyForm<4, 1, 8, false, 2>>;

// Up to this many tokens each block looks for its entries itself; more are sorted first.
constexpr int64_t kSearchTokens = 8;
constexpr int kSearchEntries = static_cast<int>(kMoeFewEntries);

struct MoeDecodeParams {
  const int32_t* expert_ids;  // [entries]
  int32_t entries;
  int32_t K;           // entries of a token
  MoeSort sort;        // if sorted
  const bf16* weight;  // [E][rows][columns]
  int64_t rows;
  int64_t columns;
  const bf16* x;  // gate_up: [T][x_stride], of a token; down: [entries][x_stride], of an entry
  int64_t x_stride;
  void* out;  // gate_up: [entries][rows / 2] bf16; down: [entries][rows] float32
};

// The entries of the expert of a block: in any order, an entry's results do not depend on it.
struct ExpertEntries {
  int expert;  // -1: nothing to do here
  int count;
  const int32_t* list;
};

// blockIdx.y is an expert, or if not sorted an entry, whose block serves all entries of its expert
// unless an earlier entry's does.
template <bool kSorted>
__device__ ExpertEntries find_entries(const MoeDecodeParams& params) {
  const int y = static_cast<int>(blockIdx.y);
  if constexpr (kSorted) {
    const int count = params.sort.counts[y];
    return {count > 0 ? y : -1, count, params.sort.sorted + params.sort.firsts[y]};
  } else {
    __shared__ int32_t list[kSearchEntries];
    __shared__ int count;
    __shared__ int first;
    const auto i = static_cast<int>(threadIdx.x);
    const int expert = params.expert_ids[y];
    const bool hit = i < params.entries && params.expert_ids[i] == expert;
    if (threadIdx.x == 0) {
      count = 0;
      first = params.entries;
    }
    __syncthreads();
    if (hit) {
      list[atomicAdd(&count, 1)] = i;
      atomicMin(&first, i);
    }
    __syncthreads();
    return {first == y ? expert : -1, count, list};
  }
}

template <bool kGateUp, bool kSorted>
__global__ void __launch_bounds__(MoeForm<kGateUp>::kThreads, MoeForm<kGateUp>::kBlocks)
    moe_decode_kernel(MoeDecodeParams params) {
  using Form = MoeForm<kGateUp>;
  using Sums = SkinnySums<Form>;
  static_assert(Form::kThreads == kSearchEntries);
  __shared__ Sums sums;
  const ExpertEntries found = find_entries<kSorted>(params);
  if (found.expert < 0) {
    return;
  }
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int64_t first = int64_t{blockIdx.x} * Form::kRowTiles * kSkinnyRows;
  const bf16* rows[Form::kRowTiles][2];
#pragma unroll
  for (int r = 0; r < Form::kRowTiles; ++r) {
    rows[r][0] =
        params.weight + (found.expert * params.rows + first + r * kSkinnyRows + g) * params.columns;
    rows[r][1] = rows[r][0] + 8 * params.columns;
  }
  for (int base = 0; base < found.count; base += kSkinnyTokens) {
    const bf16* x[1] = {nullptr};
    if (base + g < found.count) {
      const int entry = found.list[base + g];
      x[0] = params.x + (kGateUp ? entry / params.K : entry) * params.x_stride;
    }
    skinny_products<Form>(rows, x, params.columns, sums);
    for (int i = static_cast<int>(threadIdx.x); i < Sums::kCount / (kGateUp ? 2 : 1);
         i += Form::kThreads) {
      const int e = kGateUp ? i / 2 * 4 + i % 2 : i;
      const int place = base + Sums::token(e);
      if (place >= found.count) {
        continue;
      }
      const int64_t entry = found.list[place];
      const int64_t row = first + Sums::row(e);
      if constexpr (kGateUp) {
        const int64_t column = row / kSkinnyRows * kGateUpGroup + row % kGateUpGroup;
        static_cast<bf16*>(params.out)[entry * (params.rows / 2) + column] =
            from_float<bf16>(silu(sums.sum(e)) * sums.sum(e + 2));
      } else {
        static_cast<float*>(params.out)[entry * params.rows + row] = sums.sum(e);
      }
    }
    __syncthreads();
  }
}

template <bool kGateUp>
void launch_decode(CudaContext& context, const MoeDecodeParams& params, int64_t E) {
  using Form = MoeForm<kGateUp>;
  const bool sorted = params.sort.counts != nullptr;
  const LaunchShape shape{
      .grid = dim3(static_cast<unsigned>(params.rows / (Form::kRowTiles * kSkinnyRows)),
                   static_cast<unsigned>(sorted ? E : params.entries)),
      .block = dim3(Form::kThreads)};
  if (sorted) {
    launch(context, moe_decode_kernel<kGateUp, true>, shape, params);
  } else {
    launch(context, moe_decode_kernel<kGateUp, false>, shape, params);
  }
}

}  // namespace

void launch_moe_decode_gate_up(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                               const MoeSort& sort) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  launch_decode<true>(context,
                      {.expert_ids = args.expert_ids,
                       .entries = static_cast<int32_t>(args.T * args.K),
                       .K = args.K,
                       .sort = sort,
                       .weight = static_cast<const bf16*>(experts.gate_up.data()),
                       .rows = 2 * experts.I,
                       .columns = experts.H,
                       .x = static_cast<const bf16*>(args.x),
                       .x_stride = args.x_stride,
                       .out = buffers.act},
                      experts.E);
}

void launch_moe_decode(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const int64_t entries = args.T * args.K;
  MoeSort sort;
  if (args.T > kSearchTokens || entries > kSearchEntries) {
    sort = moe_sort_arrays(buffers.sort, entries, experts.E);
    launch_moe_sort(context, args, sort);
  }
  launch_moe_decode_gate_up(context, args, buffers, sort);
  launch_decode<false>(context,
                       {.expert_ids = args.expert_ids,
                        .entries = static_cast<int32_t>(entries),
                        .K = args.K,
                        .sort = sort,
                        .weight = static_cast<const bf16*>(experts.down.data()),
                        .rows = experts.H,
                        .columns = experts.I,
                        .x = static_cast<const bf16*>(buffers.act),
                        .x_stride = experts.I,
                        .out = buffers.down},
                       experts.E);
}

}  // namespace deltaserve::cuda
