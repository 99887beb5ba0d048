// Copies and their bookkeeping.
#include "cache/host_tier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace deltaserve {
namespace {

// Entries of what is nothing (a model without layers of that kind) need no memory but are counted.
constexpr int64_t kEntriesOfNothing = 1 << 16;

int64_t entries_within(int64_t bytes, int64_t entry_bytes) {
  return entry_bytes == 0 ? kEntriesOfNothing : bytes / entry_bytes;
}

int64_t chunk_bytes(const CacheTransfer& transfer) {
  return kBlocksPerChunk * transfer.block_bytes();
}

int64_t bytes_for_chunks(const CacheTransfer& transfer, int64_t bytes) {
  if (transfer.state_bytes() == 0) return bytes;
  return transfer.block_bytes() == 0 ? 0 : bytes / 2;
}

}  // namespace

HostTier::HostTier(CacheTransfer& transfer, int64_t bytes)
    : transfer_(&transfer),
      chunks_(chunk_bytes(transfer),
              entries_within(bytes_for_chunks(transfer, bytes), chunk_bytes(transfer))),
      states_(transfer.state_bytes(),
              entries_within(bytes - bytes_for_chunks(transfer, bytes), transfer.state_bytes())) {
  leaves_.reserve(static_cast<size_t>(chunks_.num_entries()));
  by_state_.reserve(static_cast<size_t>(states_.num_entries()));
}

bool HostTier::LeafTraits::before(const PrefixNode& a, const PrefixNode& b) {
  return std::pair(a.block_rank, a.id) < std::pair(b.block_rank, b.id);
}

bool HostTier::StateTraits::before(const PrefixNode& a, const PrefixNode& b) {
  return std::pair(a.snapshot_rank, a.id) < std::pair(b.snapshot_rank, b.id);
}

bool HostTier::save_chunk(PrefixNode& node) {
  DS_CHECK(node.host_chunk < 0);
  const std::optional<int32_t> entry = chunks_.allocate();
  if (!entry) return false;
  std::byte* to = chunks_.data(*entry);
  for (const int32_t block : node.blocks) {
    transfer_->save_block(block, to);
    to += transfer_->block_bytes();
  }
  node.host_chunk = *entry;
  ++moved_.chunks_out;
  return true;
}

bool HostTier::save_state(PrefixNode& node) {
  DS_CHECK(node.snapshot && node.host_state < 0);
  const std::optional<int32_t> entry = states_.allocate();
  if (!entry) return false;
  transfer_->save_state(node.snapshot->id(), states_.data(*entry));
  node.host_state = *entry;
  by_state_.push(node);
  ++moved_.states_out;
  return true;
}

void HostTier::load_chunk(const PrefixNode& node,
                          std::span<const int32_t, kBlocksPerChunk> blocks) {
  const std::byte* from = chunks_.data(node.host_chunk);
  for (const int32_t block : blocks) {
    transfer_->load_block(from, block);
    from += transfer_->block_bytes();
  }
  ++moved_.chunks_in;
}

void HostTier::load_state(const PrefixNode& node, int32_t slot) {
  transfer_->load_state(states_.data(node.host_state), slot);
  ++moved_.states_in;
}

void HostTier::copy_chunk(const PrefixNode& node, std::byte* to) const {
  std::memcpy(to, chunks_.data(node.host_chunk), static_cast<size_t>(chunks_.entry_bytes()));
}

void HostTier::copy_state(const PrefixNode& node, std::byte* to) const {
  std::memcpy(to, states_.data(node.host_state), static_cast<size_t>(states_.entry_bytes()));
}

void HostTier::drop_chunk(PrefixNode& node) {
  if (node.host_chunk < 0) return;
  unqueue_leaf(node);
  chunks_.release(std::exchange(node.host_chunk, -1));
}

void HostTier::drop_state(PrefixNode& node) {
  if (node.host_state < 0) return;
  by_state_.remove(node);
  states_.release(std::exchange(node.host_state, -1));
}

void HostTier::unqueue_leaf(PrefixNode& node) {
  if (leaves_.contains(node)) leaves_.remove(node);
}

void HostTier::rerank(PrefixNode& node) {
  if (leaves_.contains(node)) leaves_.update(node);
  if (by_state_.contains(node)) by_state_.update(node);
}

HostTierStats HostTier::stats() const {
  HostTierStats stats = moved_;
  stats.num_chunks = chunks_.num_entries() - chunks_.num_free();
  stats.num_states = states_.num_entries() - states_.num_free();
  return stats;
}

}  // namespace deltaserve
