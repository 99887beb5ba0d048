// The tree: lookup, growth, pins.
#include "cache/prefix_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

// Variants of the same tokens that are kept: prompts that end at different places in a chunk and
// are answered with the same tokens. More would only be made on purpose.
constexpr int32_t kMaxVariants = 4;

// Nodes beside one for each chunk that the blocks can hold: choices of a request share the first
// blocks of the chunk in which they part.
constexpr int64_t kSpareNodes = 256;

bool same_chunk(const ChunkKey& a, const ChunkKey& b) {
  return a.hash == b.hash && a.content == b.content && a.tokens == b.tokens;
}

bool accepts(ChunkMatch match, const ChunkKey& wanted, const ChunkKey& found) {
  if (match == ChunkMatch::kAny) return true;
  return found.code == (match == ChunkMatch::kPrompt ? 0 : wanted.code);
}

}  // namespace

PrefixIndex::PrefixIndex(BlockPool& blocks, StatePool& snapshots, uint64_t hash_seed,
                         HostTier* host)
    : blocks_(&blocks), snapshots_(&snapshots), host_(host), hash_seed_(hash_seed) {
  const int64_t spare = std::min<int64_t>(kSpareNodes, blocks.num_blocks());
  const int64_t on_host = host == nullptr ? 0 : host->max_chunks();
  const auto capacity =
      static_cast<size_t>(blocks.num_blocks() / kBlocksPerChunk + spare + on_host);
  nodes_ = std::vector<PrefixNode>(capacity);
  free_.reserve(capacity);
  for (PrefixNode& node : nodes_) free_.push_back(&node);
  std::ranges::reverse(free_);
  buckets_.resize(std::bit_ceil(std::max<size_t>(1, capacity)));
  leaves_.reserve(capacity);
  snapshot_heap_.reserve(static_cast<size_t>(snapshots.num_slots()));
}

PrefixIndex::~PrefixIndex() {
  for (PrefixNode& node : nodes_) {
    if (node.parent == nullptr) continue;
    if (node.on_device()) {
      for (const int32_t block : node.blocks) blocks_->release_cache_ref(block);
    }
    node.snapshot.reset();
  }
}

PrefixNode*& PrefixIndex::bucket_of(const Hash128& hash) {
  return buckets_[static_cast<size_t>(hash.low) & (buckets_.size() - 1)];
}

PrefixNode* PrefixIndex::bucket_of(const Hash128& hash) const {
  return buckets_[static_cast<size_t>(hash.low) & (buckets_.size() - 1)];
}

PrefixMatch PrefixIndex::find(const PrefixLookup& lookup, const ChunkReader& read) const {
  PrefixMatch match;
  const auto root = roots_.find(std::string(lookup.salt));
  if (root == roots_.end()) return match;
  // Nodes that the prefix so far may end with: one for each variant.
  std::vector<PrefixNode*> ends{root->second.get()};
  std::vector<PrefixNode*> next;
  ChunkKey key;
  for (int64_t chunk = 0; chunk < lookup.num_chunks; ++chunk) {
    read(chunk, key);
    next.clear();
    bool has_snapshot = false;
    for (PrefixNode* node = bucket_of(key.hash); node != nullptr; node = node->next_in_bucket) {
      if (!same_chunk(node->key, key) || !accepts(lookup.match, key, node->key)) continue;
      if (std::ranges::find(ends, node->parent) == ends.end()) continue;
      next.push_back(node);
      if (!node->has_state()) continue;
      // Of variants the one computed as a prompt, or else the oldest.
      const bool better = !has_snapshot || std::pair(node->key.code, node->id) <
                                               std::pair(match.node->key.code, match.node->id);
      if (better) match.node = node;
      has_snapshot = true;
    }
    if (next.empty()) break;
    match.num_known_tokens = (chunk + 1) * kChunkSize;
    ends.swap(next);
  }
  return match;
}

void PrefixIndex::note_hit(PrefixNode& node) {
  ++node.num_hits;
  node.last_used = block_price_;
  node.snapshot_used = snapshot_price_;
  rerank(node);
}

PrefixNode& PrefixIndex::root(std::string_view salt) {
  std::unique_ptr<Root>& root = roots_[std::string(salt)];
  if (root == nullptr) {
    root = std::make_unique<Root>();
    root->salt = salt;
    root->key.hash = hash_salt(salt, hash_seed_);
  }
  return *root;
}

void PrefixIndex::remove_root(PrefixNode& root) {
  roots_.erase(std::string(static_cast<Root&>(root).salt));
}

PrefixNode* PrefixIndex::take_free_node() {
  if (free_.empty() && !evict_leaf()) return nullptr;
  PrefixNode* node = free_.back();
  free_.pop_back();
  return node;
}

PrefixNode* PrefixIndex::extend(PrefixNode& parent, const ChunkKey& key,
                                std::span<const int32_t, kBlocksPerChunk> blocks) {
  DS_CHECK(parent.num_pins > 0, "a prefix grows under the hands of a sequence");
  int32_t num_variants = 0;
  for (PrefixNode* node = bucket_of(key.hash); node != nullptr; node = node->next_in_bucket) {
    if (node->key.hash != key.hash) continue;
    if (node->parent == &parent && node->key.code == key.code && same_chunk(node->key, key)) {
      if (!node->on_device()) take_blocks(*node, blocks);  // computed again
      return node;
    }
    ++num_variants;
  }
  if (num_variants >= kMaxVariants) return nullptr;
  PrefixNode* node = take_free_node();
  if (node == nullptr) return nullptr;
  node->key = key;
  node->parent = &parent;
  node->id = next_id_++;
  node->depth = parent.depth + 1;
  node->num_hits = 0;
  node->last_used = block_price_;
  node->next_in_bucket = std::exchange(bucket_of(key.hash), node);
  ++parent.num_children;
  take_blocks(*node, blocks);
  return node;
}

void PrefixIndex::pin(PrefixNode& node) {
  if (node.num_pins++ == 0) unqueue_leaf(node);
}

void PrefixIndex::unpin(PrefixNode& node) {
  DS_CHECK(node.num_pins > 0);
  if (--node.num_pins > 0) return;
  node.last_used = block_price_;
  if (node.parent == nullptr) {
    if (node.is_leaf()) remove_root(node);
    return;
  }
  queue_leaf(node);
}

// Into the order in which it may be given up, if it may.
void PrefixIndex::queue_leaf(PrefixNode& node) {
  if (node.num_pins > 0) return;
  node.block_rank = rank_blocks(node);
  if (node.on_device()) {
    if (node.num_device_children == 0) leaves_.push(node);
  } else if (node.is_leaf()) {
    host_->queue_leaf(node);
  }
}

void PrefixIndex::unqueue_leaf(PrefixNode& node) {
  if (leaves_.contains(node)) leaves_.remove(node);
  if (host_ != nullptr) host_->unqueue_leaf(node);
}

PrefixIndexStats PrefixIndex::stats() const {
  return {.num_nodes = static_cast<int64_t>(nodes_.size() - free_.size()),
          .num_snapshots = static_cast<int64_t>(snapshot_heap_.size()),
          .evicted_blocks = evicted_blocks_,
          .evicted_snapshots = evicted_snapshots_,
          .host = host_ == nullptr ? HostTierStats{} : host_->stats()};
}

std::vector<const PrefixNode*> PrefixIndex::all_nodes() const {
  std::vector<const PrefixNode*> all;
  for (const PrefixNode& node : nodes_) {
    if (node.parent != nullptr) all.push_back(&node);
  }
  return all;
}

}  // namespace deltaserve
