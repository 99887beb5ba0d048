// Each check reports by name; the order is from single sequences to the pools as a whole.
#include "engine/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace deltaserve {
namespace {

using Violation = std::optional<std::string>;

Violation check_running(const SequenceSnapshot& s) {
  if (!s.slot) return "runs without a state slot";
  if (s.num_computed < 0 || s.num_computed >= s.num_tokens) return "has nothing left to compute";
  if (!s.next_is_recurrent && s.num_computed % kChunkSize != 0) {
    return "was cut inside a chunk";
  }
  const int64_t num_held = s.num_computed + s.num_ahead;
  if (static_cast<int64_t>(s.blocks.size()) != blocks_for_tokens(num_held)) {
    return fmt::format("holds {} blocks for {} tokens", s.blocks.size(), num_held);
  }
  return std::nullopt;
}

Violation check_sequence(const SequenceSnapshot& s) {
  if (s.num_tokens < s.prompt_len || s.prompt_len < 1) return "has no prompt";
  const bool runs = s.status == SequenceStatus::kRunning;
  if (s.held_for && (runs || s.held_until < 1 || s.held_until >= s.num_tokens)) {
    return "is held for nothing";
  }
  if (runs) return check_running(s);
  if (s.slot) return "holds a state slot without running";
  if (!s.blocks.empty()) return "holds blocks without running";
  if (s.status != SequenceStatus::kFinished && s.num_computed != 0) {
    return "waits with computed tokens";
  }
  return std::nullopt;
}

bool add_owner(std::vector<int32_t>& owned, int32_t block) {
  if (block < 0 || static_cast<size_t>(block) >= owned.size()) return false;
  ++owned[static_cast<size_t>(block)];
  return true;
}

Violation check_blocks(const EngineSnapshot& snapshot) {
  std::vector<int32_t> used(snapshot.block_ref_counts.size());
  std::vector<int32_t> cached(used.size());
  for (const SequenceSnapshot& s : snapshot.sequences) {
    for (const int32_t block : s.blocks) {
      if (!add_owner(used, block)) return "a block does not exist";
    }
  }
  for (const NodeSnapshot& node : snapshot.nodes) {
    for (const int32_t block : node.blocks) {
      if (!add_owner(cached, block)) return "a cached block does not exist";
    }
  }
  int64_t num_free = 0;
  int64_t num_reclaimable = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] + cached[i] != snapshot.block_ref_counts[i]) {
      return fmt::format("block {} has {} owners and a count of {}", i, used[i] + cached[i],
                         snapshot.block_ref_counts[i]);
    }
    num_free += used[i] + cached[i] == 0 ? 1 : 0;
    num_reclaimable += used[i] == 0 && cached[i] > 0 ? 1 : 0;
  }
  if (num_free != snapshot.num_free_blocks) return "the number of free blocks is wrong";
  if (num_reclaimable != snapshot.num_reclaimable_blocks) {
    return "the number of reclaimable blocks is wrong";
  }
  return std::nullopt;
}

Violation check_slots(const EngineSnapshot& snapshot) {
  std::vector<uint8_t> owned(snapshot.slots_in_use.size());
  for (const SequenceSnapshot& s : snapshot.sequences) {
    if (!s.slot) continue;
    if (*s.slot < 0 || static_cast<size_t>(*s.slot) >= owned.size()) return "a slot does not exist";
    uint8_t& owner = owned[static_cast<size_t>(*s.slot)];
    if (owner != 0) return fmt::format("slot {} has two owners", *s.slot);
    owner = 1;
  }
  if (owned != snapshot.slots_in_use) return "a used slot has no owner or an owned one is free";
  const auto num_free = std::ranges::count(owned, uint8_t{0});
  if (num_free != snapshot.num_free_slots) return "the number of free slots is wrong";
  return std::nullopt;
}

// Slots of the cache are numbered behind those of running sequences.
Violation check_snapshots(const EngineSnapshot& snapshot) {
  std::vector<uint8_t> owned(snapshot.snapshots_in_use.size());
  std::vector<int32_t> slots = snapshot.planned_snapshots;
  for (const NodeSnapshot& node : snapshot.nodes) {
    if (node.snapshot) slots.push_back(*node.snapshot);
  }
  for (const int32_t slot : slots) {
    const int64_t i = slot - static_cast<int64_t>(snapshot.slots_in_use.size());
    if (i < 0 || static_cast<size_t>(i) >= owned.size()) return "a snapshot's slot does not exist";
    uint8_t& owner = owned[static_cast<size_t>(i)];
    if (owner != 0) return fmt::format("snapshot slot {} has two owners", i);
    owner = 1;
  }
  if (owned != snapshot.snapshots_in_use) return "a used snapshot slot has no owner";
  return std::nullopt;
}

Violation check_host(const EngineSnapshot& snapshot) {
  std::unordered_set<int32_t> chunks;
  std::unordered_set<int32_t> states;
  for (const NodeSnapshot& node : snapshot.nodes) {
    if (node.host_chunk && !chunks.insert(*node.host_chunk).second) {
      return fmt::format("host chunk {} has two owners", *node.host_chunk);
    }
    if (node.host_state && !states.insert(*node.host_state).second) {
      return fmt::format("host state {} has two owners", *node.host_state);
    }
  }
  if (static_cast<int64_t>(chunks.size()) != snapshot.num_host_chunks) {
    return "a host chunk has no owner";
  }
  if (static_cast<int64_t>(states.size()) != snapshot.num_host_states) {
    return "a host state has no owner";
  }
  return std::nullopt;
}

Violation check_nodes(const EngineSnapshot& snapshot) {
  std::unordered_map<uint64_t, const NodeSnapshot*> by_id;
  std::unordered_map<uint64_t, int32_t> children;
  std::unordered_map<uint64_t, int32_t> device_children;
  std::unordered_map<uint64_t, int32_t> pins;
  for (const NodeSnapshot& node : snapshot.nodes) {
    by_id[node.id] = &node;
    ++children[node.parent];
    if (!node.host_chunk) ++device_children[node.parent];
  }
  for (const SequenceSnapshot& s : snapshot.sequences) {
    if (s.pinned_node) ++pins[*s.pinned_node];
  }
  for (const NodeSnapshot& node : snapshot.nodes) {
    const auto parent = by_id.find(node.parent);
    if (parent == by_id.end() ? node.depth != 1 : parent->second->depth + 1 != node.depth) {
      return fmt::format("node {} hangs at the wrong place", node.id);
    }
    if (children[node.id] != node.num_children ||
        device_children[node.id] != node.num_device_children) {
      return fmt::format("node {} lost a child", node.id);
    }
    if (parent != by_id.end() && parent->second->host_chunk && !node.host_chunk) {
      return fmt::format("node {} is on the device behind one on the host", node.id);
    }
    const int32_t below = node.host_chunk ? node.num_children : node.num_device_children;
    if (pins[node.id] != node.num_pins) return fmt::format("node {} lost a pin", node.id);
    if (node.evictable != (below == 0 && node.num_pins == 0)) {
      return fmt::format("node {} is queued for eviction wrongly", node.id);
    }
  }
  return std::nullopt;
}

// A running sequence owns the blocks of the prefix that it pins.
Violation check_prefixes(const EngineSnapshot& snapshot) {
  std::unordered_map<uint64_t, const NodeSnapshot*> by_id;
  for (const NodeSnapshot& node : snapshot.nodes) by_id[node.id] = &node;
  for (const SequenceSnapshot& s : snapshot.sequences) {
    if (!s.pinned_node) continue;
    for (auto at = by_id.find(*s.pinned_node); at != by_id.end();
         at = by_id.find(at->second->parent)) {
      const NodeSnapshot& node = *at->second;
      const int64_t first = (node.depth - 1) * kBlocksPerChunk;
      for (int64_t b = 0; b < kBlocksPerChunk; ++b) {
        const auto i = static_cast<size_t>(first + b);
        if (node.host_chunk || i >= s.blocks.size() ||
            s.blocks[i] != node.blocks[static_cast<size_t>(b)]) {
          return fmt::format("choice {} of request {} does not own its prefix", s.index, s.request);
        }
      }
    }
  }
  return std::nullopt;
}

Violation check_counts(const EngineSnapshot& snapshot) {
  int64_t running = 0;
  int64_t waiting = 0;
  for (const SequenceSnapshot& s : snapshot.sequences) {
    running += s.status == SequenceStatus::kRunning ? 1 : 0;
    waiting += s.status == SequenceStatus::kWaiting || s.status == SequenceStatus::kPreempted;
  }
  if (running != snapshot.num_running) return "the scheduler's running sequences are others";
  if (waiting != snapshot.num_waiting) return "the scheduler's waiting sequences are others";
  if (running > snapshot.max_num_seqs) return "more sequences run than may";
  return std::nullopt;
}

}  // namespace

SequenceSnapshot take_snapshot(const Sequence& sequence) {
  SequenceSnapshot s;
  s.request = sequence.owner().id;
  s.index = sequence.index();
  s.status = sequence.status();
  s.prompt_len = sequence.prompt_len();
  s.num_tokens = sequence.num_tokens();
  s.num_computed = sequence.num_computed();
  s.blocks.assign(sequence.table().blocks().begin(), sequence.table().blocks().end());
  if (sequence.slot()) s.slot = sequence.slot()->id();
  s.next_is_recurrent = sequence.is_recurrent(sequence.num_computed());
  s.inherited = sequence.prefix().inherited;
  s.held_for = sequence.prefix().held_for;
  s.held_until = sequence.prefix().held_until;
  const PrefixNode* const pinned = sequence.prefix().pin.node();
  if (pinned != nullptr && pinned->parent != nullptr) s.pinned_node = pinned->id;
  return s;
}

void take_snapshot(const PrefixIndex& index, std::vector<NodeSnapshot>& nodes) {
  for (const PrefixNode* node : index.all_nodes()) {
    NodeSnapshot& s = nodes.emplace_back();
    s.id = node->id;
    s.parent = node->parent->id;
    s.depth = node->depth;
    if (node->on_device()) s.blocks.assign(node->blocks.begin(), node->blocks.end());
    if (node->host_chunk >= 0) s.host_chunk = node->host_chunk;
    if (node->host_state >= 0) s.host_state = node->host_state;
    if (node->snapshot) s.snapshot = node->snapshot->id();
    s.num_children = node->num_children;
    s.num_device_children = node->num_device_children;
    s.num_pins = node->num_pins;
    s.evictable = node->block_place >= 0 || node->host_leaf_place >= 0;
  }
}

std::optional<std::string> find_violation(const EngineSnapshot& snapshot) {
  for (const SequenceSnapshot& s : snapshot.sequences) {
    if (const Violation v = check_sequence(s)) {
      return fmt::format("choice {} of request {} {}", s.index, s.request, *v);
    }
  }
  for (const auto check : {check_blocks, check_slots, check_snapshots, check_host, check_nodes,
                           check_prefixes, check_counts}) {
    if (Violation v = check(snapshot)) return v;
  }
  return std::nullopt;
}

}  // namespace deltaserve
