// A node of the prefix index: one chunk of kChunkSize tokens after a known prefix, with the KV
// blocks of the chunk and, if one was taken there, a snapshot of the recurrent state after it.
// Either may have moved to the host. What is before a node on the device is on the device too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/prefix_hash.h"
#include "cache/state_pool.h"

namespace deltaserve {

inline constexpr int32_t kBlocksPerChunk = kChunkSize / kBlockSize;

// How a chunk was computed. The same tokens computed in another way differ in their last bits, so a
// node's identity is its prefix, its tokens and this. 0: all in one chunk, as prompts are.
// k > 0: from token k - 1 of the chunk on one by one, as answers are.
using ChunkCode = uint8_t;

// Everything that a chunk is found by.
struct ChunkKey {
  Hash128 hash;     // of the prefix to the end of this chunk
  Hash128 content;  // see fold_content
  std::array<int32_t, kChunkSize> tokens{};
  ChunkCode code = 0;
};

struct PrefixNode {
  ChunkKey key;
  PrefixNode* parent = nullptr;          // null: a root, which stands for a salt and no tokens
  PrefixNode* next_in_bucket = nullptr;  // of the index's hash table
  uint64_t id = 0;                       // order of creation
  int64_t depth = 0;                     // chunks from the root, this one included
  std::array<int32_t, kBlocksPerChunk> blocks{};  // while on the device
  std::optional<StateSlot> snapshot;
  int32_t host_chunk = -1;  // entries of the host tier
  int32_t host_state = -1;

  int32_t num_children = 0;
  int32_t num_device_children = 0;  // of them, those on the device
  int32_t num_pins = 0;             // of sequences whose prefix ends here
  int32_t num_hits = 0;             // sequences that began here

  // Keys of eviction: what the node is worth plus the price level when it was last used.
  double last_used = 0.0;
  double block_rank = 0.0;
  int64_t block_place = -1;  // in the heap of unpinned leaves
  double snapshot_used = 0.0;
  double snapshot_rank = 0.0;
  int64_t snapshot_place = -1;  // in the heap of snapshots
  int64_t host_leaf_place = -1;
  int64_t host_state_place = -1;

  int64_t num_tokens() const { return depth * kChunkSize; }
  bool is_leaf() const { return num_children == 0; }
  bool on_device() const { return host_chunk < 0; }
  bool has_state() const { return snapshot.has_value() || host_state >= 0; }
};

// The deepest node on the way to `node`, itself included, that is on the device.
PrefixNode& device_part(PrefixNode& node);

// The KV blocks of the prefix that ends with `node`, which is on the device, in order.
std::vector<int32_t> prefix_blocks(const PrefixNode& node);

// The node `depth` chunks below the root on the way to `node`.
PrefixNode& prefix_ancestor(PrefixNode& node, int64_t depth);

}  // namespace deltaserve
