#include "backends/cpu/attention_tiles.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "ops/batch_view.h"

namespace deltaserve {

static_assert(kAttentionTileTokens == 2 * kBlockSize);

bool attention_on_tiles(const CpuContext& context, int64_t head_dim) {
  return context.kernels->attention_scores != nullptr && context.compute_dtype == DType::kBF16 &&
         head_dim % kPanelKStep == 0;
}

void attention_pack_split(const CpuContext& context, const AttentionSplit& split, int64_t tokens,
                          AttentionValues& values) {
  context.kernels->attention_pack_values({.tokens = tokens,
                                          .blocks = split.blocks,
                                          .cache = static_cast<const uint16_t*>(split.kv_cache),
                                          .block_stride = split.block_stride,
                                          .head_dim = split.head_dim},
                                         values.data);
  values.steps = (tokens + kAttentionTileTokens - 1) / kAttentionTileTokens;
}

void attention_split_tiles(const CpuContext& context, const AttentionSplit& split,
                           const AttentionValues& values, uint16_t* scratch) {
  float largest[kAttentionTileGroup];
  float sums[kAttentionTileGroup];
  const AttentionTiles tiles{
      .count = split.count,
      .q = split.q,
      .lengths = split.lengths,
      .tokens = *std::max_element(split.lengths, split.lengths + split.count),
      .blocks = split.blocks,
      .cache = static_cast<const uint16_t*>(split.kv_cache),
      .block_stride = split.block_stride,
      .head_dim = split.head_dim,
      .scale = split.scale,
      .scores = split.scores,
      .score_stride = kAttentionSplit,
      .largest = largest,
      .sums = sums,
      .packed = scratch,
      .values = values.data,
      .value_steps = values.steps,
      .out = split.out};
  context.kernels->attention_scores(tiles);
  context.kernels->attention_softmax(tiles);
  for (int64_t m = 0; m < split.count; ++m) {
    split.states[m] = {.largest = largest[m], .sum = sums[m]};
  }
  context.kernels->attention_values(tiles);
}

}  // namespace deltaserve
