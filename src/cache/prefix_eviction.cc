// What the index gives up first: ranks, snapshots and leaves.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "cache/prefix_index.h"

namespace deltaserve {
namespace {

// Uses beyond this many do not make a node more valuable: a prefix that was popular once must be
// able to grow old.
constexpr int32_t kMaxCountedHits = 16;

// Tokens that a resumed sequence is spared by the snapshot of `node`: those since the snapshot
// before it. As many steps as chunks are spared, fewer than it took to compute them.
int64_t saved_tokens(const PrefixNode& node) {
  const PrefixNode* before = node.parent;
  while (before->parent != nullptr && !before->has_state()) before = before->parent;
  return node.num_tokens() - before->num_tokens();
}

double value_of(const PrefixNode& node) {
  if (!node.has_state()) return 0.0;
  return static_cast<double>(saved_tokens(node) * (1 + std::min(node.num_hits, kMaxCountedHits)));
}

}  // namespace

bool PrefixIndex::BlockTraits::before(const PrefixNode& a, const PrefixNode& b) {
  return std::pair(a.block_rank, a.id) < std::pair(b.block_rank, b.id);
}

bool PrefixIndex::SnapshotTraits::before(const PrefixNode& a, const PrefixNode& b) {
  return std::pair(a.snapshot_rank, a.id) < std::pair(b.snapshot_rank, b.id);
}

// All snapshots have one size, and so have all chunks of KV: bytes need no part in the ranks.
double PrefixIndex::rank_blocks(const PrefixNode& node) const {
  return node.last_used + value_of(node);
}

double PrefixIndex::rank_snapshot(const PrefixNode& node) const {
  return node.snapshot_used + value_of(node);
}

std::optional<StateSlot> PrefixIndex::reserve_snapshot() {
  if (snapshots_->num_free() == 0 && !evict_snapshot()) return std::nullopt;
  return snapshots_->acquire();
}

void PrefixIndex::attach_snapshot(PrefixNode& node, StateSlot slot) {
  DS_CHECK(node.parent != nullptr, "a snapshot stands behind a chunk");
  if (node.has_state()) return;
  node.snapshot.emplace(std::move(slot));
  ++num_attached_;
  node.snapshot_used = snapshot_price_;
  node.snapshot_rank = rank_snapshot(node);
  snapshot_heap_.push(node);
  rerank(node);
}

void PrefixIndex::rerank(PrefixNode& node) {
  node.block_rank = rank_blocks(node);
  if (leaves_.contains(node)) leaves_.update(node);
  node.snapshot_rank = rank_snapshot(node);
  if (snapshot_heap_.contains(node)) snapshot_heap_.update(node);
  if (host_ != nullptr) host_->rerank(node);
}

void PrefixIndex::drop_snapshot(PrefixNode& node) {
  if (!node.snapshot) return;
  snapshot_heap_.remove(node);
  node.snapshot.reset();
  rerank(node);
}

bool PrefixIndex::evict_snapshot() {
  while (!snapshot_heap_.empty()) {
    PrefixNode& node = snapshot_heap_.top();
    // The snapshot before it may have gone since: it saves more now.
    const double rank = rank_snapshot(node);
    if (rank > node.snapshot_rank) {
      node.snapshot_rank = rank;
      snapshot_heap_.update(node);
      continue;
    }
    snapshot_price_ = std::max(snapshot_price_, node.snapshot_rank);
    if (!demote_snapshot(node)) ++evicted_snapshots_;
    drop_snapshot(node);
    return true;
  }
  return false;
}

bool PrefixIndex::evict_leaf() {
  while (!leaves_.empty()) {
    PrefixNode& node = leaves_.top();
    const double rank = rank_blocks(node);
    if (rank > node.block_rank) {
      node.block_rank = rank;
      leaves_.update(node);
      continue;
    }
    block_price_ = std::max(block_price_, node.block_rank);
    if (demote(node)) return true;
    if (node.has_state()) ++evicted_snapshots_;
    evicted_blocks_ += kBlocksPerChunk;
    remove_leaf(node);
    return true;
  }
  return false;
}

bool PrefixIndex::evict_blocks(int64_t num_free) {
  while (blocks_->num_free() < num_free) {
    if (!evict_leaf()) return false;
  }
  return true;
}

void PrefixIndex::forget(PrefixNode& node) {
  PrefixNode* last = &node;
  while (last->parent != nullptr && last->is_leaf() && last->num_pins == 0) {
    PrefixNode* const parent = last->parent;
    const bool goes_on = parent->parent != nullptr;
    remove_leaf(*last);
    if (!goes_on) return;
    last = parent;
  }
}

void PrefixIndex::clear() {
  while (!leaves_.empty()) remove_leaf(leaves_.top());
}

void PrefixIndex::remove_leaf(PrefixNode& node) {
  DS_CHECK(node.is_leaf() && node.num_pins == 0);
  drop_snapshot(node);
  unqueue_leaf(node);
  PrefixNode** link = &bucket_of(node.key.hash);
  while (*link != &node) link = &(*link)->next_in_bucket;
  *link = node.next_in_bucket;
  PrefixNode& parent = *node.parent;
  if (node.on_device()) give_blocks(node);
  if (host_ != nullptr) {
    host_->drop_chunk(node);
    host_->drop_state(node);
  }
  node.parent = nullptr;
  free_.push_back(&node);
  --parent.num_children;
  if (!parent.is_leaf() || parent.num_pins > 0) return;
  if (parent.parent == nullptr) {
    remove_root(parent);
  } else if (!parent.on_device()) {
    parent.last_used = std::max(parent.last_used, node.last_used);
    queue_leaf(parent);
  }
}

}  // namespace deltaserve
