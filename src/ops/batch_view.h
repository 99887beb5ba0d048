// The rows of one step as every op sees them: T packed tokens of B sequences, and where each
// sequence's KV blocks and recurrent state live. All pointers are memory of the backend.
#pragma once

#include <cstdint>

namespace deltaserve {

// Tokens per KV block. 16 is what the prefix cache hashes at and divides the 64-token chunk.
inline constexpr int32_t kBlockSize = 16;

// Tokens per chunk of the delta rule; chunk borders lie on absolute multiples of it.
inline constexpr int32_t kChunkSize = 64;

struct BatchView {
  int32_t num_tokens = 0;               // T
  int32_t num_seqs = 0;                 // B
  int32_t max_query_len = 0;            // largest number of rows of one sequence
  int32_t max_blocks_per_seq = 0;       // row length of block_tables
  const int32_t* cu_seqlens = nullptr;  // [B + 1] first row of each sequence, ends with T
  // [B] tokens of the sequence before its first row here: its absolute position. 0 means that the
  // sequence starts: its conv and recurrent state count as zero whatever its slot holds.
  const int32_t* context_lens = nullptr;
  const int32_t* positions = nullptr;     // [3, T] M-RoPE positions (T, H, W); equal for text
  const int32_t* slot_mapping = nullptr;  // [T] block id * kBlockSize + offset in the block
  const int32_t* block_tables = nullptr;  // [B, max_blocks_per_seq] block ids
  const int32_t* state_slots = nullptr;   // [B] slot of the conv and recurrent state pools
  // [B] 1: apply the delta rule token by token (decode, and the replay of decoded tokens);
  // 0: in chunks. A decoded token's bits do not depend on whether it is replayed or not.
  const uint8_t* recurrent = nullptr;
  // Sequences with recurrent == 0, so that a device whose arrays the host cannot read launches only
  // what they need; -1: not counted, every form is launched and finds its sequences itself.
  int32_t num_chunked = -1;

  // [B] or null: tokens of a sequence, at least one, after which its conv and recurrent state are
  // stored. Those behind them are drafts, which get outputs as if they counted and leave nothing
  // behind. Null: all tokens of each sequence; so it must be where recurrent == 0.
  const int32_t* stored_lens = nullptr;
  // The same as a number, where the arrays lie in host memory.
  int32_t stored_len(int64_t s) const {
    return stored_lens != nullptr ? stored_lens[s] : cu_seqlens[s + 1] - cu_seqlens[s];
  }

  // One token a sequence, all token by token.
  bool is_decode() const {
    return num_chunked == 0 && max_query_len == 1 && stored_lens == nullptr;
  }
};

}  // namespace deltaserve
