// A prompt of one token, and a draw from its logits with everything that draws can need.
#include "engine/warm_up.h"

#include <new>
#include <vector>

namespace deltaserve {

Result<void> warm_up(ModelRunner& runner) {
  Batch batch;
  batch.input_ids = {0};
  batch.positions = {0, 0, 0};
  batch.cu_seqlens = {0, 1};
  batch.context_lens = {0};
  batch.slot_mapping = {0};
  batch.block_tables = {0};
  batch.max_blocks_per_seq = 1;
  batch.state_slots = {0};
  batch.recurrent = {0};
  batch.phase_ends = {1};
  batch.logits_rows = {0};
  std::vector<SamplingRow> rows(1);
  rows[0].top_p = 0.5F;
  rows[0].num_logprobs = 1;
  std::vector<SampledToken> sampled(1);
  try {
    runner.run(batch, rows, sampled);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable,
                "not enough memory for the kernels' scratch: lower max_num_batched_tokens");
  }
  return {};
}

}  // namespace deltaserve
