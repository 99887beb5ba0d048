// One step's input as the model takes it: T packed tokens of B sequences, in host memory. Built by
// the engine, or by `verify` and `bench` directly; the model moves it to the backend.
//
// A sequence whose state is wanted in the middle of its rows is cut there and stands in the batch
// once for each piece, in successive phases. Phases matter to what carries state only: it works
// through them one by one, everything else sees one batch.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/batch_view.h"

namespace deltaserve {

struct StateCopy {
  int32_t phase = 0;  // after which the copy is made
  int32_t from = 0;   // slots
  int32_t to = 0;
};

struct BlockCopy {
  int32_t from = 0;
  int32_t to = 0;
};

// Rows of the model's vision embeddings that stand in for those of the embedding table.
struct EmbeddingCopy {
  int32_t row = 0;   // of the step
  int64_t from = 0;  // of the embeddings
  int32_t count = 0;
};

struct Batch {
  std::vector<int32_t> input_ids;  // [T]
  // [T] rows of the draw begun last whose tokens are the input ids, which the host does not know
  // yet; -1: the id is in input_ids. Empty: all are.
  std::vector<int32_t> drawn_rows;
  std::vector<int32_t> positions;     // [3 * T] M-RoPE rows T, H, W
  std::vector<int32_t> cu_seqlens;    // [B + 1]
  std::vector<int32_t> context_lens;  // [B] tokens computed before this step
  std::vector<int32_t> slot_mapping;  // [T]
  std::vector<int32_t> block_tables;  // [B * max_blocks_per_seq]
  std::vector<int32_t> state_slots;   // [B]
  std::vector<uint8_t> recurrent;     // [B] see BatchView
  std::vector<int32_t> logits_rows;   // [R] rows of the T whose logits are wanted
  int32_t max_blocks_per_seq = 0;
  // Sequences of the phases before and of this one, by phase; empty: all are one phase.
  std::vector<int32_t> phase_ends;
  std::vector<StateCopy> restores;      // made before anything else; `phase` has no meaning
  std::vector<StateCopy> snapshots;     // ascending by phase
  std::vector<BlockCopy> block_copies;  // made when all else is done
  std::vector<EmbeddingCopy> embeddings;

  int32_t num_tokens() const { return static_cast<int32_t>(input_ids.size()); }
  int32_t num_seqs() const { return static_cast<int32_t>(state_slots.size()); }
};

}  // namespace deltaserve
