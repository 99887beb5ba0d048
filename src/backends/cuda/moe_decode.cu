// The experts' products of a decode step: a thread block multiplies a few rows of one active
// expert with that expert's tokens, so that the matrices of active experts are read once at the
// speed of memory. The shared expert is one more of them in the second product.
#include <algorithm>
#include <type_traits>

#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/moe_skinny.cuh"
#include "backends/cuda/skinny_form.cuh"

namespace deltaserve::cuda {
namespace {

// Enough rows a block that finding its entries is the smaller part: 32 of gate_up, whose rows are
// long, and 64 of down.
template <bool kGateUp>
using MoeForm =
    std::conditional_t<kGateUp, SkinnyForm<2, 1, 8, false, 3>, SkinnyForm<4, 1, 8, false, 2>>;

// blockIdx.y is a tile of the sorted entries: all of one active expert. With `shared_tokens` there
// is one more before them, the shared expert, whose entries are the tokens.
template <bool kGateUp>
__global__ void __launch_bounds__(MoeForm<kGateUp>::kThreads, MoeForm<kGateUp>::kBlocks)
    moe_decode_kernel(ExpertProduct product, MoeSort sort, ExpertProduct shared,
                      int32_t shared_tokens) {
  using Form = MoeForm<kGateUp>;
  __shared__ SkinnySums<Form> sums;
  const int64_t first_row = int64_t{blockIdx.x} * Form::kRowTiles * kSkinnyRows;
  const int tile = static_cast<int>(blockIdx.y) - (shared_tokens > 0 ? 1 : 0);
  if (tile < 0) {
    multiply_expert<Form, kGateUp>(shared, 0, first_row, nullptr, shared_tokens, sums);
    return;
  }
  wait_for_previous();
  if (tile < *sort.num_tiles) {
    multiply_expert<Form, kGateUp>(product, sort.tile_expert[tile], first_row,
                                   sort.sorted + sort.tile_first[tile], sort.tile_rows[tile], sums);
  }
}

template <bool kGateUp>
void launch_decode(CudaContext& context, const ExpertProduct& product, const MoeSort& sort,
                   int64_t most_tiles, const ExpertProduct& shared, int64_t shared_tokens) {
  using Form = MoeForm<kGateUp>;
  const auto kernel = moe_decode_kernel<kGateUp>;
  prefer_loads(context, kernel);
  launch_early(context, kernel,
               {.grid = dim3(static_cast<unsigned>(product.rows / (Form::kRowTiles * kSkinnyRows)),
                             static_cast<unsigned>(most_tiles + (shared_tokens > 0 ? 1 : 0))),
                .block = dim3(Form::kThreads)},
               product, sort, shared, static_cast<int32_t>(shared_tokens));
}

}  // namespace

void launch_moe_decode(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                       const MoeSharedDown& shared) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const int64_t entries = args.T * args.K;
  const MoeSort sort = moe_sort_arrays(buffers.sort, args.T, args.K, experts.E);
  const int64_t most_tiles = std::min(entries, experts.E);
  launch_decode<true>(context,
                      {.weight = static_cast<const bf16*>(experts.gate_up.data()),
                       .rows = 2 * experts.I,
                       .columns = experts.H,
                       .x = static_cast<const bf16*>(args.x),
                       .x_stride = args.x_stride,
                       .x_entries = args.K,
                       .out = buffers.act,
                       .out_stride = experts.I},
                      sort, most_tiles, {}, 0);
  launch_decode<false>(context,
                       {.weight = static_cast<const bf16*>(experts.down.data()),
                        .rows = experts.H,
                        .columns = experts.I,
                        .x = static_cast<const bf16*>(buffers.act),
                        .x_stride = experts.I,
                        .x_entries = 1,
                        .out = buffers.down,
                        .out_stride = experts.H},
                       sort, most_tiles,
                       {.weight = static_cast<const bf16*>(shared.weight),
                        .rows = experts.H,
                        .columns = shared.columns,
                        .x = static_cast<const bf16*>(shared.x),
                        .x_stride = shared.x_stride,
                        .x_entries = 1,
                        .out = shared.out,
                        .out_stride = experts.H},
                       shared.weight == nullptr ? 0 : args.T);
}

}  // namespace deltaserve::cuda
