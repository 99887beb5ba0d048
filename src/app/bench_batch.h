// Batches for `bench`: sequences with KV blocks and state slots of their own, random token ids.
#pragma once

#include <cstdint>

#include "model/batch.h"

namespace deltaserve {

struct BenchShape {
  int64_t num_seqs = 1;
  int64_t tokens_per_seq = 1;
  int64_t context_len = 0;
  int64_t max_model_len = 0;  // decides the blocks of a sequence
  int32_t vocab_size = 0;
};

// Every sequence's rows [context_len, context_len + tokens_per_seq); logits of each last row.
Batch make_bench_batch(const BenchShape& shape);

int64_t blocks_per_sequence(int64_t max_model_len);

}  // namespace deltaserve
