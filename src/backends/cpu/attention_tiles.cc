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

void attention_split_tiles(const CpuContext& context, const AttentionFunctions& functions,
                           const AttentionSplit& split, uint16_t* scratch) {
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
      .packed = scratch,
      .out = split.out};
  context.kernels->attention_scores(tiles);
  for (int64_t m = 0; m < split.count; ++m) {
    split.states[m] = functions.softmax(split.scores + m * kAttentionSplit, split.lengths[m]);
  }
  context.kernels->attention_values(tiles);
}

}  // namespace deltaserve
