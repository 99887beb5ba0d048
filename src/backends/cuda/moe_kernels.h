// The kernels behind moe.cu and moe_block.cu. An entry is one (token, choice) pair, number token *
// K
// + choice. All forms end with the down products of every entry, which are summed per token in
// ascending expert.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_weights.h"
#include "ops/moe_args.h"

namespace deltaserve::cuda {

struct MoeBuffers {
  void* act = nullptr;  // [entries][I] X: silu(gate) * up; by entry, or sorted (grouped form)
  // [entries][H], by entry: of the grouped form as float16 with exponents, see
  // moe_grouped_store.cuh.
  float* down = nullptr;
  __half* down_halves = nullptr;
  uint8_t* down_exponents = nullptr;
  int32_t* sort = nullptr;  // MoeSort's arrays
};

// Where the forms find the entries of each expert. `entries` is T * K.
struct MoeSort {
  int32_t* counts = nullptr;       // of moe_sort.cu only
  int32_t* sorted = nullptr;       // [entries] entry numbers by expert, then token
  int32_t* num_tiles = nullptr;    // [1]
  int32_t* tile_expert = nullptr;  // [max_tiles] ascending
  int32_t* tile_first = nullptr;   // [max_tiles] first row of the tile in `sorted`
  int32_t* tile_rows = nullptr;    // [max_tiles] rows of the tile, at most kMoeTileRows
};
inline constexpr int64_t kMoeTileRows = 320;      // of two thread blocks, 160 each
inline constexpr int64_t kMoeMostExperts = 1024;  // 32 a lane of the warp that chooses

// Integers that MoeSort's arrays take, and the arrays laid out in `memory`.
int64_t moe_sort_size(int64_t T, int64_t K, int64_t E);
MoeSort moe_sort_arrays(int32_t* memory, int64_t T, int64_t K, int64_t E);

// A tile is all of an expert's entries for up to kMoeDecodeTokens tokens.
void launch_moe_sort(CudaContext& context, const MoeArgs& args, const MoeSort& sort);
// The same with moe_topk before it.
void launch_moe_topk_sort(CudaContext& context, const MoeTopkArgs& args, const MoeSort& sort);

// The forms. bfloat16 with H and I multiples of 64: up to kMoeDecodeTokens tokens, where a row's
// bits may depend on their number, or on Hopper any number.
inline constexpr int32_t kMoeGroupedArch = 90;
inline constexpr int64_t kMoeDecodeTokens = 128;
bool moe_has_tensor_form(const CudaContext& context, const CudaExperts& experts, int64_t T);
// Which of the tensor core forms serves T tokens: the grouped one, or that of a decode step.
bool moe_takes_grouped(const CudaContext& context, const CudaExperts& experts, int64_t T);
MoeBuffers moe_buffers(CudaContext& context, int64_t T, int64_t K, const CudaExperts& experts);

// What the shared expert's down product is made of, if a form is to make it: weight [H][columns]
// times x [T][x_stride] to out [T][H] float32.
struct MoeSharedDown {
  const void* weight = nullptr;
  int64_t columns = 0;
  const void* x = nullptr;
  int64_t x_stride = 0;
  float* out = nullptr;
};

// Both after the sort.
void launch_moe_decode(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                       const MoeSharedDown& shared);
void launch_moe_grouped(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);
// A warp a row of an entry: both dtypes, any shape.
void launch_moe_plain(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);

// out [T, H] = the sum over a token's experts and the gated shared expert; with `add` it is added
// to what `out` holds.
void launch_moe_combine(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                        bool add);

// A whole block for a handful of tokens, and the parts of it that more tokens use too. The routing
// products are those of router and shared expert's gate and up.
inline constexpr int64_t kMoeFewTokens = 4;
inline constexpr int64_t kMoeRouteTokens = 32;
bool serves_moe_few(const CudaContext& context, const MoeBlockArgs& args);
void launch_moe_few(CudaContext& context, const MoeBlockArgs& args, const MoeBuffers& buffers);
// For one token of the widths that it serves, in one launch; the same bits.
bool serves_moe_one(const CudaContext& context, const MoeBlockArgs& args);
void launch_moe_one(CudaContext& context, const MoeBlockArgs& args);
void launch_moe_norm_route(CudaContext& context, const MoeBlockArgs& args);
void launch_moe_route(CudaContext& context, const MoeBlockArgs& args);

}  // namespace deltaserve::cuda
