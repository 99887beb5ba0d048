// One step's input as the model takes it: T packed tokens of B sequences, in host memory. Built by
// the engine, or by `verify` and `bench` directly; the model moves it to the backend.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/batch_view.h"

namespace deltaserve {

struct Batch {
  std::vector<int32_t> input_ids;     // [T]
  std::vector<int32_t> positions;     // [3 * T] M-RoPE rows T, H, W
  std::vector<int32_t> cu_seqlens;    // [B + 1]
  std::vector<int32_t> context_lens;  // [B] tokens computed before this step
  std::vector<int32_t> slot_mapping;  // [T]
  std::vector<int32_t> block_tables;  // [B * max_blocks_per_seq]
  std::vector<int32_t> state_slots;   // [B]
  std::vector<uint8_t> recurrent;     // [B] see BatchView
  std::vector<int32_t> logits_rows;   // [R] rows of the T whose logits are wanted
  int32_t max_blocks_per_seq = 0;

  int32_t num_tokens() const { return static_cast<int32_t>(input_ids.size()); }
  int32_t num_seqs() const { return static_cast<int32_t>(state_slots.size()); }
};

}  // namespace deltaserve
