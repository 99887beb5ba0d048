// The experts' products for few tokens: a thread block multiplies 16 rows of one active expert with
// that expert's tokens, so that the matrices of active experts are read once at the speed of memory
// (skinny_tile.cuh). Nothing is sorted: each block looks for its tokens among the few entries.
#include <algorithm>

#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {
namespace {

using Form = SkinnyForm<1, 1, 8, true, 3>;

struct MoeDecodeParams {
  const int32_t* expert_ids;  // [entries]
  int32_t entries;
  int32_t K;           // entries of a token
  bool by_entry;       // blockIdx.y counts entries, not experts
  const bf16* weight;  // [E][rows][columns]
  int64_t rows;
  int64_t columns;
  const bf16* x;  // gate_up: [T][x_stride], of a token; down: [entries][x_stride], of an entry
  int64_t x_stride;
  void* out;  // gate_up: [entries][rows / 2] bf16; down: [entries][rows] float32
};

// The entries of one expert; of a token at most one.
struct ExpertEntries {
  int32_t list[kMoeDecodeTokens];
  int count;
  int first;  // lowest entry
};

// Finds the expert of this block and its entries, in any order: an entry's results do not depend
// on its place. Returns -1 where the expert has none or where another block has the expert.
__device__ int find_entries(const MoeDecodeParams& params, ExpertEntries& found) {
  const int y = static_cast<int>(blockIdx.y);
  const int expert = params.by_entry ? params.expert_ids[y] : y;
  if (threadIdx.x == 0) {
    found.count = 0;
    found.first = params.entries;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < params.entries; i += Form::kThreads) {
    if (params.expert_ids[i] == expert) {
      found.list[atomicAdd(&found.count, 1)] = i;
      atomicMin(&found.first, i);
    }
  }
  __syncthreads();
  const bool mine = params.by_entry ? found.first == y : found.count > 0;
  return mine ? expert : -1;
}

template <bool kGateUp>
__global__ void __launch_bounds__(Form::kThreads, Form::kBlocks)
    moe_decode_kernel(MoeDecodeParams params) {
  using Sums = SkinnySums<Form>;
  __shared__ Sums sums;
  __shared__ ExpertEntries found;
  const int expert = find_entries(params, found);
  if (expert < 0) {
    return;
  }
  const int g = static_cast<int>(threadIdx.x) % kWarp / 4;
  const int64_t first = int64_t{blockIdx.x} * kSkinnyRows;
  const bf16* tile = params.weight + (expert * params.rows + first + g) * params.columns;
  const bf16* const rows[1][2] = {{tile, tile + 8 * params.columns}};
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
      if constexpr (kGateUp) {
        const int64_t column = first / 2 + Sums::row(e);
        static_cast<bf16*>(params.out)[entry * (params.rows / 2) + column] =
            from_float<bf16>(silu(sums.sum(e)) * sums.sum(e + 2));
      } else {
        static_cast<float*>(params.out)[entry * params.rows + first + Sums::row(e)] = sums.sum(e);
      }
    }
    __syncthreads();
  }
}

}  // namespace

void launch_moe_decode(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const int64_t entries = args.T * args.K;
  MoeDecodeParams params{.expert_ids = args.expert_ids,
                         .entries = static_cast<int32_t>(entries),
                         .K = args.K,
                         .by_entry = entries < experts.E,
                         .weight = static_cast<const bf16*>(experts.gate_up.data()),
                         .rows = 2 * experts.I,
                         .columns = experts.H,
                         .x = static_cast<const bf16*>(args.x),
                         .x_stride = args.x_stride,
                         .out = buffers.act};
  const auto shape = [&] {
    return LaunchShape{.grid = dim3(static_cast<unsigned>(params.rows / kSkinnyRows),
                                    static_cast<unsigned>(std::min(entries, experts.E))),
                       .block = dim3(Form::kThreads)};
  };
  launch(context, moe_decode_kernel<true>, shape(), params);
  params.weight = static_cast<const bf16*>(experts.down.data());
  params.rows = experts.H;
  params.columns = experts.I;
  params.x = static_cast<const bf16*>(buffers.act);
  params.x_stride = experts.I;
  params.out = buffers.down;
  launch(context, moe_decode_kernel<false>, shape(), params);
}

}  // namespace deltaserve::cuda
