// Building of bench batches.
#include "app/bench_batch.h"

#include <random>

namespace deltaserve {

int64_t blocks_per_sequence(int64_t max_model_len) {
  return (max_model_len + kBlockSize - 1) / kBlockSize;
}

Batch make_bench_batch(const BenchShape& shape) {
  std::mt19937 random(static_cast<uint32_t>(shape.context_len + 1));
  std::uniform_int_distribution<int32_t> token(0, shape.vocab_size - 1);
  const int64_t blocks = blocks_per_sequence(shape.max_model_len);
  Batch batch;
  batch.max_blocks_per_seq = static_cast<int32_t>(blocks);
  batch.cu_seqlens.push_back(0);
  for (int64_t seq = 0; seq < shape.num_seqs; ++seq) {
    for (int64_t block = 0; block < blocks; ++block) {
      batch.block_tables.push_back(static_cast<int32_t>(seq * blocks + block));
    }
    for (int64_t i = 0; i < shape.tokens_per_seq; ++i) {
      const int64_t position = shape.context_len + i;
      batch.input_ids.push_back(token(random));
      batch.slot_mapping.push_back(static_cast<int32_t>(seq * blocks * kBlockSize + position));
    }
    batch.cu_seqlens.push_back(batch.num_tokens());
    batch.context_lens.push_back(static_cast<int32_t>(shape.context_len));
    batch.state_slots.push_back(static_cast<int32_t>(seq));
    batch.recurrent.push_back(shape.tokens_per_seq == 1 ? 1 : 0);
    batch.logits_rows.push_back(batch.num_tokens() - 1);
  }
  for (int axis = 0; axis < 3; ++axis) {
    for (int64_t seq = 0; seq < shape.num_seqs; ++seq) {
      for (int64_t i = 0; i < shape.tokens_per_seq; ++i) {
        batch.positions.push_back(static_cast<int32_t>(shape.context_len + i));
      }
    }
  }
  return batch;
}

}  // namespace deltaserve
