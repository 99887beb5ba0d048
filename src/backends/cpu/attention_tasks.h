// The tasks that attention is made of. Both kinds compute the same splits and merge them in the
// same order, so which one serves a sequence never shows in the bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/attention_rows.h"
#include "backends/cpu/attention_tiles.h"
#include "backends/cpu/cpu_context.h"
#include "ops/args.h"

namespace deltaserve {

class AttentionTasks {
 public:
  // A kv head of a sequence.
  struct Item {
    int64_t seq = 0;
    int64_t kv_head = 0;
  };

  // Both must outlive this.
  AttentionTasks(const CpuContext& context, const AttentionArgs& args);

  static size_t thread_scratch_bytes(const AttentionArgs& args);

  int64_t rows_of(int64_t seq) const { return batch_.cu_seqlens[seq + 1] - batch_.cu_seqlens[seq]; }
  int64_t splits_of(int64_t seq) const {
    return (batch_.context_lens[seq] + rows_of(seq) + kAttentionSplit - 1) / kAttentionSplit;
  }
  int64_t rows_per_task() const { return rows_per_task_; }
  // Floats that one split task leaves: an output and a state for each vector.
  int64_t partial_floats(int64_t seq) const {
    return rows_of(seq) * queries_per_kv_ * (args_.head_dim + 2);
  }

  // A block of rows against all their splits.
  void run_rows(const Item& item, int64_t row_block, int32_t thread) const;
  // All rows against split `index`; leaves partial_floats() at `partial`.
  void run_split(const Item& item, int64_t index, float* partial, int32_t thread) const;
  // Merges what the split tasks of an item left, one behind the other.
  void merge(const Item& item, float* partials) const;

 private:
  struct Scratch;

  Scratch scratch_of(int32_t thread) const;
  const std::byte* query_pointer(const void* base, int64_t row, int64_t head) const;
  void load_queries(int64_t first_row, int64_t kv_head, int64_t count, float* q) const;
  void finish_vector(int64_t first_row, int64_t kv_head, int64_t i, const SoftmaxState& state,
                     const float* out) const;
  AttentionSplit split_of(const Item& item, int64_t index) const;
  void run_group(AttentionSplit split, int64_t position, int64_t index, int64_t first,
                 int64_t count, const AttentionValues& values, const Scratch& scratch,
                 SoftmaxState* states, float* out) const;

  const CpuContext& context_;
  const AttentionArgs& args_;
  const BatchView& batch_;
  AttentionFunctions functions_;
  bool on_tiles_;
  int64_t group_;  // query vectors against a split at once
  int64_t x_bytes_;
  int64_t queries_per_kv_;
  int64_t rows_per_task_;
};

}  // namespace deltaserve
