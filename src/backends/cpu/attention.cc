// attention: splits the step into tasks for the team.
//   Row tasks (prefill): a block of rows of one kv head walks over all its splits.
//   Split tasks (decode, verify, short rests): all rows of a sequence against one split; partial
//   results lie in the shared scratch and are merged afterwards. One long sequence fills the team.
#include "backends/cpu/attention_tasks.h"
#include "backends/cpu/row_ops.h"
#include "backends/cpu/threads.h"
#include "base/check.h"

namespace deltaserve {
namespace {

// Partial results of split tasks; a step that needs more is done in several waves.
constexpr size_t kPartialBytes = size_t{16} << 20;

class Attention {
 public:
  Attention(const CpuContext& context, const AttentionArgs& args)
      : context_(context), args_(args), batch_(*args.batch), tasks_(context, args) {}

  void run() {
    run_row_tasks();
    for (Item begin{}; begin.seq < batch_.num_seqs;) {
      begin = run_wave(begin);
    }
  }

 private:
  using Item = AttentionTasks::Item;

  bool is_split_item(int64_t seq) const {
    return tasks_.rows_of(seq) <= tasks_.rows_per_task() &&
           item_floats(seq) * static_cast<int64_t>(sizeof(float)) <=
               static_cast<int64_t>(kPartialBytes);
  }
  // Floats that the split tasks of an item leave.
  int64_t item_floats(int64_t seq) const {
    return tasks_.splits_of(seq) * tasks_.partial_floats(seq);
  }
  Item next(Item item) const {
    return ++item.kv_head < args_.num_kv_heads ? item : Item{item.seq + 1, 0};
  }

  void run_row_tasks();
  Item run_wave(Item begin);

  const CpuContext& context_;
  const AttentionArgs& args_;
  const BatchView& batch_;
  AttentionTasks tasks_;
};

void Attention::run_row_tasks() {
  const auto blocks_of = [&](int64_t seq) {
    return is_split_item(seq)
               ? 0
               : (tasks_.rows_of(seq) + tasks_.rows_per_task() - 1) / tasks_.rows_per_task();
  };
  int64_t tasks = 0;
  for (int64_t seq = 0; seq < batch_.num_seqs; ++seq) {
    tasks += blocks_of(seq) * args_.num_kv_heads;
  }
  if (tasks == 0) {
    return;
  }
  parallel_dynamic(context_.threads, tasks, [&](int64_t task, int32_t thread) {
    int64_t seq = 0;
    for (; task >= blocks_of(seq) * args_.num_kv_heads; ++seq) {
      task -= blocks_of(seq) * args_.num_kv_heads;
    }
    // The last rows see the most tokens: they go first, so that the team ends together.
    const int64_t row_block = blocks_of(seq) - 1 - task / args_.num_kv_heads;
    tasks_.run_rows({seq, task % args_.num_kv_heads}, row_block, thread);
  });
}

// Runs split items from `begin` on, as many as the shared scratch holds; returns the first one
// left.
Attention::Item Attention::run_wave(Item begin) {
  constexpr auto kPartialFloats = static_cast<int64_t>(kPartialBytes / sizeof(float));
  Item end = begin;
  int64_t floats = 0;
  int64_t tasks = 0;
  int64_t items = 0;
  for (; end.seq < batch_.num_seqs; end = next(end)) {
    if (!is_split_item(end.seq)) {
      continue;
    }
    const int64_t own = item_floats(end.seq);
    if (floats + own > kPartialFloats) {
      break;
    }
    floats += own;
    tasks += tasks_.splits_of(end.seq);
    ++items;
  }
  // Finds task or item `index` of this wave: the item, what is left of the index in it, its
  // partials.
  const auto locate = [&](int64_t index, bool by_task) {
    struct Place {
      Item item;
      int64_t rest;
      float* partials;
    } place{begin, index, context_.shared_scratch<float>()};
    for (;; place.item = next(place.item)) {
      const int64_t seq = place.item.seq;
      if (!is_split_item(seq)) {
        continue;
      }
      const int64_t size = by_task ? tasks_.splits_of(seq) : 1;
      if (place.rest < size) {
        return place;
      }
      place.rest -= size;
      place.partials += item_floats(seq);
    }
  };
  if (items == 0) {
    return end;
  }
  parallel_dynamic(context_.threads, tasks, [&](int64_t task, int32_t thread) {
    const auto place = locate(task, true);
    tasks_.run_split(place.item, place.rest,
                     place.partials + place.rest * tasks_.partial_floats(place.item.seq), thread);
  });
  parallel_dynamic(context_.threads, items, [&](int64_t index, int32_t /*thread*/) {
    const auto place = locate(index, false);
    tasks_.merge(place.item, place.partials);
  });
  return end;
}

}  // namespace

void cpu_attention(CpuContext& context, const AttentionArgs& args) {
  DS_CHECK(args.num_heads % args.num_kv_heads == 0);
  DS_CHECK(args.head_dim % kBlockSize == 0, "head_dim must be a multiple of 16");
  context.require_thread_scratch(AttentionTasks::thread_scratch_bytes(args));
  context.require_shared_scratch(kPartialBytes);
  Attention(context, args).run();
}

}  // namespace deltaserve
