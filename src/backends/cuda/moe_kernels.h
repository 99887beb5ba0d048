// The kernels behind moe.cu. An entry is one (token, choice) pair, number token * K + choice. All
// forms end with down [entries][H] float32, which `combine` sums per token in ascending expert.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_weights.h"
#include "ops/args.h"

namespace deltaserve::cuda {

struct MoeBuffers {
  void* act = nullptr;      // [entries][I] X: silu(gate) * up; by entry, or sorted (grouped form)
  float* down = nullptr;    // [entries][H], by entry
  int32_t* sort = nullptr;  // MoeSort's arrays
};

// Where sorted forms find the entries of each expert. `entries` is T * K.
struct MoeSort {
  int32_t* counts = nullptr;       // [E]
  int32_t* firsts = nullptr;       // [E] place in `sorted` of the expert's first entry
  int32_t* sorted = nullptr;       // [entries] entry numbers by expert, then token
  int32_t* num_tiles = nullptr;    // [1]
  int32_t* tile_expert = nullptr;  // [max_tiles]
  int32_t* tile_first = nullptr;   // [max_tiles] first row of the tile in `sorted`
  int32_t* tile_rows = nullptr;    // [max_tiles] rows of the tile, at most kMoeTileRows
};
inline constexpr int64_t kMoeTileRows = 128;

// Integers that MoeSort's arrays take, and the arrays laid out in `memory`.
int64_t moe_sort_size(int64_t entries, int64_t E);
MoeSort moe_sort_arrays(int32_t* memory, int64_t entries, int64_t E);
// Tiles there can be at most: the grid of the grouped products.
int64_t moe_max_tiles(int64_t entries, int64_t E);

void launch_moe_sort(CudaContext& context, const MoeArgs& args, const MoeSort& sort);

// act of the decode form, which `launch_moe_few` shares.
void launch_moe_decode_gate_up(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers,
                               const MoeSort& sort);

// A warp a row of an entry: both dtypes, any shape.
void launch_moe_plain(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);
// bfloat16, H and I multiples of 64: up to kMoeDecodeTokens tokens, or on Hopper any number.
inline constexpr int32_t kMoeGroupedArch = 90;
inline constexpr int64_t kMoeDecodeTokens = 128;
void launch_moe_decode(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);
// The same for a handful of tokens, `combine` included and with the same bits.
inline constexpr int64_t kMoeFewTokens = 4;
inline constexpr int64_t kMoeFewEntries = 256;
void launch_moe_few(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);
void launch_moe_grouped(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers);

}  // namespace deltaserve::cuda
