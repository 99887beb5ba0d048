// The prefix cache as the scheduler sees it: what a sequence can take from the index when it is
// admitted, which of its states are worth a snapshot, and what it leaves behind.
//
// Snapshots are taken on chunk borders where later requests are likely to go on: at the last one of
// the prompt, at the first and last messages, where this prompt was seen to part from an earlier
// one or from one that waits, at the newest one of the answer, and at regular distances in between.
//
// A resumed sequence has the bits of an unbroken one, because a chunk's identity includes how it
// was computed. With `reuse_answers` the unbroken one may be a conversation whose answers were
// computed one by one; without it only chunks computed as prompts are taken, and a request has the
// same bits whatever the cache holds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache/named_prefixes.h"
#include "cache/prefix_pin.h"
#include "engine/sequence.h"
#include "engine/step_plan.h"

namespace deltaserve {

struct PrefixCacheOptions {
  bool enabled = false;
  bool reuse_answers = true;
  int64_t snapshot_interval = 0;  // chunks between snapshots of a long prompt; 0: none between
  uint64_t hash_seed = 0;
  int64_t swap_space_bytes = 0;  // of host memory for what the device gives up
  // A prefix that several requests need at once is computed for one of them if it is this long: a
  // step costs about as much whatever it holds, and waiting for one must pay.
  int64_t min_shared_tokens = 4 * kChunkSize;
};

// Snapshots that one step takes at most: each may cut a sequence, and step limits count the pieces.
inline constexpr int32_t kMaxStepSnapshots = 16;

struct PrefixCacheCounters {
  int64_t query_tokens = 0;  // of prompts admitted
  int64_t hit_tokens = 0;    // of them, found
  int64_t num_lookups = 0;   // also of sequences that had to wait on
};

class PrefixCache {
 public:
  // The pools must outlive this. `snapshots` are the slots beside those of running sequences.
  // `transfer` (null: no host tier) too.
  PrefixCache(const PrefixCacheOptions& options, BlockPool& blocks, StatePool& snapshots,
              CacheTransfer* transfer = nullptr);

  // Makes a waiting sequence share the longest prefix that can be resumed, and returns the node
  // with its snapshot; null: it begins anew. let_go() takes that back.
  PrefixNode* adopt(Sequence& sequence);
  void let_go(Sequence& sequence);
  // The sequence was admitted as it was adopted and has blocks for all that was found: brings back
  // what is on the host, and adds to the plan what is left to be copied.
  void start(Sequence& sequence, PrefixNode* found, StepPlan& plan);

  // Whether a snapshot that one sequence leaves can be another's beginning.
  bool shares_prefixes() const { return index_ && snapshots_->num_slots() > 0; }
  // The last chunk border that the follower could resume at if the leader, which is computing its
  // prompt, left a snapshot there.
  int64_t shared_border(Sequence& leader, Sequence& follower) const;

  // Evicts, if that suffices, until the table can grow to `num_tokens` tokens (or `num_blocks` are
  // free); else nothing.
  void make_room(const BlockTable& table, int64_t num_tokens);
  void make_room(int64_t num_blocks);

  // Adds the snapshots of this step to the plan, with their slots.
  void plan_snapshots(StepPlan& plan);
  // The sequence's newly computed chunks and the snapshots taken of it enter the index.
  void commit(Sequence& sequence, std::span<PlannedSnapshot> snapshots);
  // The sequence's states are not to be used again.
  void forget(Sequence& sequence);

  // A sequence of a request with a name is about to end: the name stands for what it leaves.
  void remember(const Sequence& sequence);
  const NamedPrefixes& names() const { return names_; }

  // Snapshots taken so far: while it stays, a lookup finds no more than it did.
  int64_t num_states_kept() const { return index_ ? index_->num_attached() : 0; }

  const PrefixCacheOptions& options() const { return options_; }
  void recount();  // see BlockPool::recount
  const HostTier* host() const { return host_ ? &*host_ : nullptr; }
  PrefixIndex* index() { return index_ ? &*index_ : nullptr; }
  const PrefixIndex* index() const { return index_ ? &*index_ : nullptr; }
  const PrefixCacheCounters& counters() const { return counters_; }

 private:
  void restore(Sequence& sequence, PrefixNode& found, StepPlan& plan);
  void read_chunk(Sequence& sequence, int64_t chunk, ChunkKey& key) const;
  const Hash128& chunk_hash(Sequence& sequence, int64_t chunk) const;
  int64_t common_chunks(Sequence& a, Sequence& b) const;
  void wanted_borders(const ScheduledSequence& scheduled);
  void want(int64_t border, int64_t begin, int64_t end);
  bool commit_chunk(Sequence& sequence, int64_t chunk);
  void commit_snapshot(Sequence& sequence, PlannedSnapshot& snapshot);

  PrefixCacheOptions options_;
  BlockPool* blocks_;
  StatePool* snapshots_;
  std::optional<HostTier> host_;
  std::optional<PrefixIndex> index_;
  NamedPrefixes names_;
  PrefixCacheCounters counters_;
  std::vector<int64_t> borders_;  // of the sequence being planned
};

}  // namespace deltaserve
