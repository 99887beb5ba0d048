// What must hold between two steps, as a function over a snapshot: every block and slot is owned
// exactly as often as it is counted, none is lost, and lengths fit together. Tests call it after
// every step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sequence.h"

namespace deltaserve {

struct NodeSnapshot {
  uint64_t id = 0;
  uint64_t parent = 0;  // 0: a root
  int64_t depth = 0;
  std::vector<int32_t> blocks;  // none while on the host
  std::optional<int32_t> snapshot;
  std::optional<int32_t> host_chunk;
  std::optional<int32_t> host_state;
  int32_t num_children = 0;
  int32_t num_device_children = 0;
  int32_t num_pins = 0;
  bool evictable = false;  // as the index has it
};

struct SequenceSnapshot {
  RequestId request = 0;
  int32_t index = 0;
  SequenceStatus status = SequenceStatus::kWaiting;
  int64_t prompt_len = 0;
  int64_t num_tokens = 0;
  int64_t num_computed = 0;
  int64_t num_ahead = 0;  // tokens that a step computes which was launched ahead
  std::vector<int32_t> blocks;
  std::optional<int32_t> slot;
  bool next_is_recurrent = false;
  std::optional<uint64_t> pinned_node;  // none too where it is a root
  std::vector<ChunkCode> inherited;     // see SequencePrefix
  std::optional<uint64_t> held_for = {};
  int64_t held_until = 0;
};

SequenceSnapshot take_snapshot(const Sequence& sequence);
void take_snapshot(const PrefixIndex& index, std::vector<NodeSnapshot>& nodes);

struct EngineSnapshot {
  std::vector<int32_t> block_ref_counts;  // [num_blocks]
  int32_t num_free_blocks = 0;
  int32_t num_reclaimable_blocks = 0;
  std::vector<uint8_t> slots_in_use;  // [num_state_slots]
  int32_t num_free_slots = 0;
  std::vector<int32_t> planned_snapshots;  // slots of a step that was launched ahead
  int64_t num_running = 0;                 // as the scheduler counts
  int64_t num_waiting = 0;
  int64_t max_num_seqs = 0;
  std::vector<SequenceSnapshot> sequences;  // of all requests, finished choices included
  std::vector<uint8_t> snapshots_in_use;    // [num_snapshots]
  std::vector<NodeSnapshot> nodes;          // of the prefix index
  int64_t num_host_chunks = 0;              // entries of the host tier in use
  int64_t num_host_states = 0;
};

// The first thing that is wrong, in words; none if all is well.
std::optional<std::string> find_violation(const EngineSnapshot& snapshot);

}  // namespace deltaserve
