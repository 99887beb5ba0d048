// Chunks and snapshots on their way between device and host.
#include <algorithm>

#include "base/check.h"
#include "cache/prefix_index.h"

namespace deltaserve {

// The node is on the device from now on, with references to these blocks.
void PrefixIndex::take_blocks(PrefixNode& node, std::span<const int32_t, kBlocksPerChunk> blocks) {
  DS_CHECK(node.parent->parent == nullptr || node.parent->on_device());
  if (host_ != nullptr) host_->drop_chunk(node);
  std::ranges::copy(blocks, node.blocks.begin());
  for (const int32_t block : blocks) blocks_->add_cache_ref(block);
  unqueue_leaf(*node.parent);
  ++node.parent->num_device_children;
  queue_leaf(node);
}

// The device's part of leaving it: references, and the parent's place among the leaves.
void PrefixIndex::give_blocks(PrefixNode& node) {
  for (const int32_t block : node.blocks) blocks_->release_cache_ref(block);
  PrefixNode& parent = *node.parent;
  if (--parent.num_device_children > 0 || parent.parent == nullptr) return;
  // Whoever used the child used it.
  parent.last_used = std::max(parent.last_used, node.last_used);
  queue_leaf(parent);
}

void PrefixIndex::load_chunk(PrefixNode& node, std::span<const int32_t, kBlocksPerChunk> blocks) {
  host_->load_chunk(node, blocks);
  take_blocks(node, blocks);
}

// Moves a leaf of the device to the host, in the place of what is worth less there. False: it is
// worth less than all that is there, or there is no host tier.
bool PrefixIndex::demote(PrefixNode& node) {
  if (host_ == nullptr || host_->max_chunks() == 0) return false;
  while (!host_->has_free_chunk()) {
    PrefixNode* const least = host_->first_leaf();
    // What hangs below on the host would be lost with the node: it goes first.
    if (least == nullptr || (node.is_leaf() && node.block_rank < least->block_rank)) {
      DS_CHECK(node.is_leaf(), "a chunk on the host has lost its prefix");
      return false;
    }
    evicted_blocks_ += kBlocksPerChunk;
    if (least->has_state()) ++evicted_snapshots_;
    remove_leaf(*least);
  }
  if (node.snapshot) {
    if (!demote_snapshot(node)) ++evicted_snapshots_;
    drop_snapshot(node);
  }
  unqueue_leaf(node);
  DS_CHECK(host_->save_chunk(node));
  give_blocks(node);
  queue_leaf(node);
  return true;
}

// Copies a node's snapshot to the host, if it is worth more than one there.
bool PrefixIndex::demote_snapshot(PrefixNode& node) {
  if (host_ == nullptr) return false;
  while (!host_->has_free_state()) {
    PrefixNode* const least = host_->first_state();
    // One that is pinned may be about to be used.
    if (least == nullptr || least->num_pins > 0 || node.snapshot_rank < least->snapshot_rank) {
      return false;
    }
    host_->drop_state(*least);
    ++evicted_snapshots_;
    rerank(*least);
  }
  return host_->save_state(node);
}

}  // namespace deltaserve
