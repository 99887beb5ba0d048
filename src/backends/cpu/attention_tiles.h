// Attention over one split on bfloat16 tiles (AMX), for any number of query vectors: decode and
// prefill get the same bits. The float32 softmax is that of attention_rows.h.
#pragma once

#include "backends/cpu/attention_rows.h"
#include "backends/cpu/cpu_context.h"

namespace deltaserve {

inline constexpr int64_t kAttentionTileGroup = 32;  // query vectors at once

bool attention_on_tiles(const CpuContext& context, int64_t head_dim);

// bfloat16 elements of scratch beside what AttentionSplit names.
constexpr int64_t attention_tile_scratch(int64_t head_dim) {
  const int64_t weights = 2 * kAttentionSplit;
  return kAttentionTileGroup * (head_dim > weights ? head_dim : weights);
}

// V of a split as tiles, once for several groups of vectors.
struct AttentionValues {
  uint16_t* data = nullptr;  // scratch of kAttentionSplit * head_dim; null: nothing is packed
  int64_t steps = 0;
};
void attention_pack_split(const CpuContext& context, const AttentionSplit& split, int64_t tokens,
                          AttentionValues& values);

// AttentionFunctions::split with up to kAttentionTileGroup vectors.
void attention_split_tiles(const CpuContext& context, const AttentionSplit& split,
                           const AttentionValues& values, uint16_t* scratch);

}  // namespace deltaserve
