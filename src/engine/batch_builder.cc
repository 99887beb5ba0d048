// Packing: a count over the plan first, then each sequence writes its rows, phase by phase if some
// are cut for snapshots.
#include "engine/batch_builder.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "engine/sequence.h"
#include "model/embedding_copies.h"

namespace deltaserve {
namespace {

// Added to one logit it makes a greedy draw return that token, and with it the token's logprob:
// above any logit of a working model, and finite, so that it is no fault of the row.
constexpr float kForceBias = 1e30F;

void resize_rows(const StepPlan& plan, StepInput& input) {
  size_t num_logprobs = 0;
  int32_t max_blocks = 0;
  bool any_drawn = false;
  for (const ScheduledSequence& s : plan.sequences) {
    num_logprobs += static_cast<size_t>(s.num_prompt_logprobs);
    max_blocks = std::max(max_blocks, s.sequence->table().num_blocks());
    any_drawn = any_drawn || s.drawn_row >= 0;
  }
  const auto num_tokens = static_cast<size_t>(plan.num_tokens);
  Batch& batch = input.batch;
  batch.max_blocks_per_seq = max_blocks;
  batch.input_ids.resize(num_tokens);
  batch.drawn_rows.assign(any_drawn ? num_tokens : 0, -1);
  batch.positions.resize(3 * num_tokens);
  batch.slot_mapping.resize(num_tokens);
  batch.cu_seqlens.assign(1, 0);
  batch.context_lens.clear();
  batch.block_tables.clear();
  batch.state_slots.clear();
  batch.recurrent.clear();
  batch.logits_rows.clear();
  batch.phase_ends.clear();
  batch.restores = plan.restores;
  batch.snapshots.clear();
  batch.block_copies.clear();
  batch.embeddings.clear();
  input.rows.clear();
  input.masks.clear();
  input.forced.clear();
  input.forced.reserve(num_logprobs);  // rows point into it
  input.last_rows.assign(plan.sequences.size(), 0);
}

// Rows of tokens [begin, end) of a sequence that show pictures, the first of them row `row`.
void append_embeddings(const Sequence& sequence, int64_t begin, int64_t end, int32_t row,
                       Batch& batch) {
  const PromptLayout& layout = sequence.owner().layout;
  if (begin >= layout.vision_end()) return;
  std::vector<std::span<const int32_t>> pages(sequence.request().vision_items.size());
  const std::vector<EncodedPin>& pins = sequence.pictures().pins;
  for (size_t i = 0; i < pins.size(); ++i) {
    if (pins[i] != nullptr) pages[i] = pins[i]->pages;
  }
  append_embedding_copies(layout, pages, begin, end, row, batch.embeddings);
}

// Tokens [begin, end) of a sequence, which its slot's state stands before.
void append_piece(const ScheduledSequence& scheduled, int64_t begin, int64_t end, Batch& batch) {
  const Sequence& sequence = *scheduled.sequence;
  const auto num_tokens = batch.input_ids.size();
  auto row = static_cast<size_t>(batch.cu_seqlens.back());
  append_embeddings(sequence, begin, end, batch.cu_seqlens.back(), batch);
  for (int64_t i = begin; i < end; ++i, ++row) {
    if (scheduled.drawn_row >= 0) {
      batch.input_ids[row] = 0;
      batch.drawn_rows[row] = scheduled.drawn_row;
    } else {
      batch.input_ids[row] = sequence.token(i);
    }
    batch.slot_mapping[row] = sequence.table().slot_of(i);
    const std::array<int32_t, 3> position = sequence.position(i);
    for (size_t axis = 0; axis < 3; ++axis) {
      batch.positions[axis * num_tokens + row] = position[axis];
    }
  }
  const std::span<const int32_t> blocks = sequence.table().blocks();
  const size_t first = batch.block_tables.size();
  batch.block_tables.resize(first + static_cast<size_t>(batch.max_blocks_per_seq), 0);
  std::ranges::copy(blocks, batch.block_tables.begin() + static_cast<std::ptrdiff_t>(first));
  batch.context_lens.push_back(static_cast<int32_t>(begin));
  batch.state_slots.push_back(sequence.slot().value().id());
  batch.recurrent.push_back(scheduled.recurrent ? 1 : 0);
  batch.cu_seqlens.push_back(static_cast<int32_t>(row));
}

// Piece `phase` of a sequence that is cut at its snapshots; false if it has no such piece.
bool append_phase(const ScheduledSequence& scheduled, std::span<const PlannedSnapshot> snapshots,
                  int32_t phase, StepInput& input) {
  const int64_t begin = scheduled.begin;
  const int64_t end = scheduled.end();
  const auto border = [&](int32_t cut) {
    return static_cast<size_t>(cut) < snapshots.size()
               ? snapshots[static_cast<size_t>(cut)].position
               : end;
  };
  const int64_t from = phase == 0 ? begin : border(phase - 1);
  if (from == end) return false;
  const int64_t to = border(phase);
  append_piece(scheduled, from, to, input.batch);
  const int32_t slot = scheduled.sequence->slot()->id();
  if (static_cast<size_t>(phase) < snapshots.size()) {
    const int32_t kept = snapshots[static_cast<size_t>(phase)].slot.id();
    input.batch.snapshots.push_back({.phase = phase, .from = slot, .to = kept});
  }
  return true;
}

// Copies that make its forks out of a sequence whose last piece is in this phase.
void append_fork_copies(const ScheduledSequence& scheduled, std::span<Sequence* const> forks,
                        int32_t phase, Batch& batch) {
  const Sequence& leader = *scheduled.sequence;
  for (const Sequence* fork : forks) {
    batch.snapshots.push_back(
        {.phase = phase, .from = leader.slot()->id(), .to = fork->slot()->id()});
    if (leader.prompt_len() % kBlockSize == 0) continue;
    const auto last = static_cast<size_t>(leader.prompt_len() / kBlockSize);
    batch.block_copies.push_back(
        {.from = leader.table().blocks()[last], .to = fork->table().blocks()[last]});
  }
}

// All sequences' pieces of one phase; false if there are none.
bool append_phase(const StepPlan& plan, int32_t phase, StepInput& input) {
  bool any = false;
  std::span<const PlannedSnapshot> snapshots = plan.snapshots;
  std::span<Sequence* const> forks = plan.forks;
  for (size_t i = 0; i < plan.sequences.size(); ++i) {
    const ScheduledSequence& scheduled = plan.sequences[i];
    const auto num_snapshots = static_cast<size_t>(scheduled.num_snapshots);
    const auto num_forks = static_cast<size_t>(scheduled.num_forks);
    if (append_phase(scheduled, snapshots.first(num_snapshots), phase, input)) {
      any = true;
      const int32_t end = input.batch.cu_seqlens.back();
      input.last_rows[i] = end - 1;
      const int64_t length = end - input.batch.cu_seqlens[input.batch.cu_seqlens.size() - 2];
      if (input.batch.context_lens.back() + length == scheduled.end()) {
        append_fork_copies(scheduled, forks.first(num_forks), phase, input.batch);
      }
    }
    snapshots = snapshots.subspan(num_snapshots);
    forks = forks.subspan(num_forks);
  }
  return any;
}

void append_draw(Sequence& sequence, int32_t drawn_row, int32_t last_row, StepInput& input) {
  input.rows.push_back(sequence.sampler().next_row(drawn_row));
  input.batch.logits_rows.push_back(last_row);
  if (GrammarLimit* mask = sequence.sampler().unmade_mask()) input.masks.push_back(mask);
}

// Rows of logits and how to draw from them, for a sequence whose last row is `last_row`.
void append_sampling(const ScheduledSequence& scheduled, std::span<Sequence* const> forks,
                     int32_t last_row, StepInput& input) {
  const Sequence& sequence = *scheduled.sequence;
  const int64_t last = scheduled.end() - 1;
  for (int32_t k = 0; k < scheduled.num_prompt_logprobs; ++k) {
    const int64_t i = scheduled.first_prompt_logprob + k;
    input.forced.push_back({.token = sequence.token(i + 1), .bias = kForceBias});
    SamplingRow row;
    row.temperature = 0.0F;
    row.logit_bias = &input.forced.back();
    row.num_logit_bias = 1;
    row.num_logprobs = sequence.request().prompt_logprobs;
    input.rows.push_back(row);
    input.batch.logits_rows.push_back(last_row - static_cast<int32_t>(last - i));
  }
  if (scheduled.samples) {
    append_draw(*scheduled.sequence, scheduled.drawn_row, last_row, input);
  }
  for (Sequence* fork : forks) append_draw(*fork, -1, last_row, input);
}

}  // namespace

void build_step_input(const StepPlan& plan, StepInput& input) {
  resize_rows(plan, input);
  for (int32_t phase = 0; append_phase(plan, phase, input); ++phase) {
    input.batch.phase_ends.push_back(input.batch.num_seqs());
  }
  std::span<Sequence* const> forks = plan.forks;
  for (size_t i = 0; i < plan.sequences.size(); ++i) {
    const auto num_forks = static_cast<size_t>(plan.sequences[i].num_forks);
    append_sampling(plan.sequences[i], forks.first(num_forks), input.last_rows[i], input);
    forks = forks.subspan(num_forks);
  }
  DS_CHECK(input.batch.cu_seqlens.back() == plan.num_tokens);
}

}  // namespace deltaserve
