// The prefix cache's index: a tree of chunks, found by chained hashes and compared token by token.
// Each node holds references to its KV blocks; some hold a state snapshot. A sequence can be
// resumed where there is a snapshot and the KV of everything before it.
//
// Both kinds of memory are given up by value: the tokens that a snapshot saves (from the snapshot
// before it), times how often it was used, per byte, plus the price level at its last use. The
// price level is the rank of what was evicted last (the "GreedyDual" rule), so that what is not
// used grows cheaper against all that is, without clocks. KV goes leaf by leaf, and never below a
// pinned node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/block_pool.h"
#include "cache/host_tier.h"
#include "cache/indexed_heap.h"
#include "cache/prefix_lookup.h"
#include "cache/prefix_node.h"

namespace deltaserve {

struct PrefixIndexStats {
  int64_t num_nodes = 0;
  int64_t num_snapshots = 0;
  int64_t evicted_blocks = 0;
  int64_t evicted_snapshots = 0;
  HostTierStats host;
};

class PrefixIndex {
 public:
  // Pools and `host` (null: none) must outlive this. All memory is taken here.
  PrefixIndex(BlockPool& blocks, StatePool& snapshots, uint64_t hash_seed,
              HostTier* host = nullptr);
  ~PrefixIndex();
  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  uint64_t hash_seed() const { return hash_seed_; }

  PrefixMatch find(const PrefixLookup& lookup, const ChunkReader& read) const;
  // The node was found and a sequence begins there.
  void note_hit(PrefixNode& node);

  // The node that stands for a salt and no tokens.
  PrefixNode& root(std::string_view salt);
  // The child of `parent` with this key, made with references to `blocks` if there is none yet;
  // null if the index takes no more (the same tokens in too many variants, or no room).
  PrefixNode* extend(PrefixNode& parent, const ChunkKey& key,
                     std::span<const int32_t, kBlocksPerChunk> blocks);

  // Brings a chunk back from the host, into these blocks.
  void load_chunk(PrefixNode& node, std::span<const int32_t, kBlocksPerChunk> blocks);

  // A slot for a snapshot to be taken, if need be that of the least valuable one; none if there are
  // no slots, or all are reserved.
  std::optional<StateSlot> reserve_snapshot();
  // Keeps a snapshot of the state after `node`. A node that has one keeps its own.
  void attach_snapshot(PrefixNode& node, StateSlot slot);
  void drop_snapshot(PrefixNode& node);
  int64_t num_attached() const { return num_attached_; }  // snapshots so far

  // Gives up cached blocks until the pool has `num_free` free ones. False: there are not enough.
  bool evict_blocks(int64_t num_free);
  // Gives up the chunks of the prefix that ends here which nothing else builds on.
  void forget(PrefixNode& node);
  void clear();  // all of the device's that is not pinned

  PrefixIndexStats stats() const;
  int32_t capacity() const { return static_cast<int32_t>(nodes_.size()); }
  // Every node but the roots, in no order: for checks and reports.
  std::vector<const PrefixNode*> all_nodes() const;

 private:
  friend class PrefixPin;
  struct BlockTraits {
    static int64_t& place(PrefixNode& node) { return node.block_place; }
    static int64_t place(const PrefixNode& node) { return node.block_place; }
    static bool before(const PrefixNode& a, const PrefixNode& b);
  };
  struct SnapshotTraits {
    static int64_t& place(PrefixNode& node) { return node.snapshot_place; }
    static int64_t place(const PrefixNode& node) { return node.snapshot_place; }
    static bool before(const PrefixNode& a, const PrefixNode& b);
  };

  struct Root : PrefixNode {
    std::string salt;
  };

  void pin(PrefixNode& node);
  void unpin(PrefixNode& node);
  void queue_leaf(PrefixNode& node);
  void unqueue_leaf(PrefixNode& node);
  PrefixNode* take_free_node();
  void take_blocks(PrefixNode& node, std::span<const int32_t, kBlocksPerChunk> blocks);
  void give_blocks(PrefixNode& node);
  bool demote(PrefixNode& node);
  bool demote_snapshot(PrefixNode& node);
  void rerank(PrefixNode& node);
  void remove_leaf(PrefixNode& node);
  void remove_root(PrefixNode& root);
  PrefixNode*& bucket_of(const Hash128& hash);
  PrefixNode* bucket_of(const Hash128& hash) const;
  double rank_blocks(const PrefixNode& node) const;
  double rank_snapshot(const PrefixNode& node) const;
  bool evict_leaf();
  bool evict_snapshot();

  BlockPool* blocks_;
  StatePool* snapshots_;
  HostTier* host_;
  uint64_t hash_seed_;
  std::vector<PrefixNode> nodes_;     // all there can be
  std::vector<PrefixNode*> free_;     // of them, unused
  std::vector<PrefixNode*> buckets_;  // hash table; a power of two
  std::unordered_map<std::string, std::unique_ptr<Root>> roots_;
  IndexedHeap<PrefixNode, BlockTraits> leaves_;  // unpinned leaves
  IndexedHeap<PrefixNode, SnapshotTraits> snapshot_heap_;
  double block_price_ = 0.0;
  double snapshot_price_ = 0.0;
  uint64_t next_id_ = 1;
  int64_t evicted_blocks_ = 0;
  int64_t evicted_snapshots_ = 0;
  int64_t num_attached_ = 0;
};

}  // namespace deltaserve
