// The second tier of the prefix cache: KV chunks and state snapshots that the device gave up, in
// host memory, until they are used again or give way to what is worth more. The index decides what
// moves; this keeps the memory, the order in which it is given up, and the figures.
#pragma once

#include <cstdint>
#include <span>

#include "cache/host_store.h"
#include "cache/indexed_heap.h"
#include "cache/prefix_node.h"

namespace deltaserve {

struct HostTierStats {
  int64_t num_chunks = 0;
  int64_t num_states = 0;
  int64_t chunks_out = 0;  // copied to the host so far
  int64_t states_out = 0;
  int64_t chunks_in = 0;  // copied back
  int64_t states_in = 0;
};

class HostTier {
 public:
  // Half of `bytes` is for chunks, half for states; one that is nothing leaves its half to the
  // other. `transfer` must outlive this.
  HostTier(CacheTransfer& transfer, int64_t bytes);

  // Copies of the node's blocks, or of the snapshot in its slot. False: there is no free entry.
  bool save_chunk(PrefixNode& node);
  bool save_state(PrefixNode& node);
  void load_chunk(const PrefixNode& node, std::span<const int32_t, kBlocksPerChunk> blocks);
  void load_state(const PrefixNode& node, int32_t slot);
  // What load_chunk and load_state would read, to host memory.
  void copy_chunk(const PrefixNode& node, std::byte* to) const;
  void copy_state(const PrefixNode& node, std::byte* to) const;
  void drop_chunk(PrefixNode& node);
  void drop_state(PrefixNode& node);

  bool has_free_chunk() const { return chunks_.num_free() > 0; }
  bool has_free_state() const { return states_.num_free() > 0; }
  int64_t max_chunks() const { return chunks_.num_entries(); }

  // Unpinned nodes on the host without children: the first of them goes next.
  void queue_leaf(PrefixNode& node) { leaves_.push(node); }
  void unqueue_leaf(PrefixNode& node);
  void rerank(PrefixNode& node);  // its ranks have changed
  PrefixNode* first_leaf() const { return leaves_.empty() ? nullptr : &leaves_.top(); }
  PrefixNode* first_state() const { return by_state_.empty() ? nullptr : &by_state_.top(); }

  HostTierStats stats() const;
  const HostStore& chunks() const { return chunks_; }
  const HostStore& states() const { return states_; }

 private:
  struct LeafTraits {
    static int64_t& place(PrefixNode& node) { return node.host_leaf_place; }
    static int64_t place(const PrefixNode& node) { return node.host_leaf_place; }
    static bool before(const PrefixNode& a, const PrefixNode& b);
  };
  struct StateTraits {
    static int64_t& place(PrefixNode& node) { return node.host_state_place; }
    static int64_t place(const PrefixNode& node) { return node.host_state_place; }
    static bool before(const PrefixNode& a, const PrefixNode& b);
  };

  CacheTransfer* transfer_;
  HostStore chunks_;
  HostStore states_;
  IndexedHeap<PrefixNode, LeafTraits> leaves_;
  IndexedHeap<PrefixNode, StateTraits> by_state_;
  HostTierStats moved_;
};

}  // namespace deltaserve
