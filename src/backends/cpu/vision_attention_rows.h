// The parts of vision_attention that are not matrix products: keys and values into panels, the
// running softmax of a tile of query rows, and the last division.
#pragma once

#include <cstdint>

#include "backends/cpu/attention_rows.h"
#include "backends/cpu/cpu_backend.h"
#include "tensor/dtype.h"

namespace deltaserve {

// Keys of a block: their K and V at head size 72 (padded to 96) are 192 KiB of bfloat16 and stay in
// L2 while all query rows of a task pass over them.
inline constexpr int64_t kVisionKeyBlock = 512;

// Rows of K or V of one head to pack: `count` (1..kVisionKeyBlock) rows `stride` elements apart.
struct VisionRows {
  const void* data = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
  int64_t head_dim = 0;
};

// Panels as panel_matrix.h has them. K: 32 keys are the columns, head_dim is the sum's length. V:
// 32 dimensions are the columns, the keys the sum's length. Both are padded with zeros to multiples
// of 32, so that a block of n keys has round_up(n, 32) * round_up(head_dim, 32) elements.
void pack_vision_keys(DType x_dtype, const VisionRows& keys, void* panels);
void pack_vision_values(DType x_dtype, const VisionRows& values, void* panels);

// Scores of a tile of query rows with one block of keys.
struct VisionSoftmaxTile {
  float* scores = nullptr;  // [keys / 32 rounded up][rows][32], columns from `keys` on undefined
  int64_t rows = 0;
  int64_t keys = 0;
  float scale = 0.0F;
  SoftmaxState* states = nullptr;  // [rows], updated
  float* rescale = nullptr;        // [rows] factor for what the row summed up before
  void* weights = nullptr;         // [rows, kVisionKeyBlock] X: exp(score - largest), zero-padded
};

struct VisionAttentionFunctions {
  void (*softmax)(DType x_dtype, const VisionSoftmaxTile& tile) = nullptr;
  // out[r] = sums[r] / states[r].sum, rounded to X; sums are [head_dim / 32 rounded up][rows][32].
  void (*finish)(DType x_dtype, const float* sums, int64_t rows, int64_t head_dim,
                 const SoftmaxState* states, void* out, int64_t out_stride) = nullptr;
};

VisionAttentionFunctions vision_attention_functions(CpuIsa isa);

}  // namespace deltaserve
