// Packing: a count over the plan first, then each sequence writes its rows.
#include "engine/batch_builder.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "engine/sequence.h"

namespace deltaserve {
namespace {

// Added to one logit it makes a greedy draw return that token, and with it the token's logprob:
// above any logit of a working model, and finite, so that it is no fault of the row.
constexpr float kForceBias = 1e30F;

void resize_rows(const StepPlan& plan, StepInput& input) {
  size_t num_logprobs = 0;
  int32_t max_blocks = 0;
  for (const ScheduledSequence& s : plan.sequences) {
    num_logprobs += static_cast<size_t>(s.num_prompt_logprobs);
    max_blocks = std::max(max_blocks, s.sequence->table().num_blocks());
  }
  const size_t num_seqs = plan.sequences.size();
  const auto num_tokens = static_cast<size_t>(plan.num_tokens);
  Batch& batch = input.batch;
  batch.max_blocks_per_seq = max_blocks;
  batch.input_ids.resize(num_tokens);
  batch.positions.resize(3 * num_tokens);
  batch.slot_mapping.resize(num_tokens);
  batch.cu_seqlens.assign(1, 0);
  batch.context_lens.clear();
  batch.block_tables.assign(num_seqs * static_cast<size_t>(max_blocks), 0);
  batch.state_slots.clear();
  batch.recurrent.clear();
  batch.logits_rows.clear();
  input.rows.clear();
  input.forced.clear();
  input.forced.reserve(num_logprobs);  // rows point into it
}

void append_tokens(const ScheduledSequence& scheduled, Batch& batch) {
  const Sequence& sequence = *scheduled.sequence;
  const auto num_tokens = batch.input_ids.size();
  auto row = static_cast<size_t>(batch.cu_seqlens.back());
  const int64_t begin = sequence.num_computed();
  for (int64_t i = begin; i < begin + scheduled.num_scheduled_tokens; ++i, ++row) {
    batch.input_ids[row] = sequence.token(i);
    batch.slot_mapping[row] = sequence.table().slot_of(i);
    const std::array<int32_t, 3> position = sequence.position(i);
    for (size_t axis = 0; axis < 3; ++axis) {
      batch.positions[axis * num_tokens + row] = position[axis];
    }
  }
}

void append_sequence(const ScheduledSequence& scheduled, Batch& batch) {
  const Sequence& sequence = *scheduled.sequence;
  const auto index = static_cast<std::ptrdiff_t>(batch.state_slots.size());
  std::ranges::copy(sequence.table().blocks(),
                    batch.block_tables.begin() + index * batch.max_blocks_per_seq);
  batch.context_lens.push_back(static_cast<int32_t>(sequence.num_computed()));
  batch.state_slots.push_back(sequence.slot().value().id());
  batch.recurrent.push_back(scheduled.recurrent ? 1 : 0);
  batch.cu_seqlens.push_back(batch.cu_seqlens.back() + scheduled.num_scheduled_tokens);
}

// `first_row`: the sequence's first row in the batch.
void append_sampling(const ScheduledSequence& scheduled, int32_t first_row, StepInput& input) {
  const Sequence& sequence = *scheduled.sequence;
  for (int32_t k = 0; k < scheduled.num_prompt_logprobs; ++k) {
    const int64_t i = scheduled.first_prompt_logprob + k;
    input.forced.push_back({.token = sequence.token(i + 1), .bias = kForceBias});
    SamplingRow row;
    row.temperature = 0.0F;
    row.logit_bias = &input.forced.back();
    row.num_logit_bias = 1;
    row.num_logprobs = sequence.request().prompt_logprobs;
    input.rows.push_back(row);
    input.batch.logits_rows.push_back(first_row +
                                      static_cast<int32_t>(i - sequence.num_computed()));
  }
  if (!scheduled.samples) return;
  input.rows.push_back(sequence.sampler().next_row());
  input.batch.logits_rows.push_back(first_row + scheduled.num_scheduled_tokens - 1);
}

}  // namespace

void build_step_input(const StepPlan& plan, StepInput& input) {
  resize_rows(plan, input);
  for (const ScheduledSequence& scheduled : plan.sequences) {
    const int32_t first_row = input.batch.cu_seqlens.back();
    append_tokens(scheduled, input.batch);
    append_sequence(scheduled, input.batch);
    append_sampling(scheduled, first_row, input);
  }
  DS_CHECK(input.batch.cu_seqlens.back() == plan.num_tokens);
}

}  // namespace deltaserve
