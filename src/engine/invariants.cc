// Each check reports by name; the order is from single sequences to the pools as a whole.
#include "engine/invariants.h"

#include <fmt/format.h>

#include <algorithm>

namespace deltaserve {
namespace {

using Violation = std::optional<std::string>;

Violation check_running(const SequenceSnapshot& s) {
  if (!s.slot) return "runs without a state slot";
  if (s.num_computed < 0 || s.num_computed >= s.num_tokens) return "has nothing left to compute";
  if (s.num_computed < s.prompt_len && s.num_computed % kChunkSize != 0) {
    return "was cut inside a chunk";
  }
  if (static_cast<int64_t>(s.blocks.size()) != blocks_for_tokens(s.num_computed)) {
    return fmt::format("holds {} blocks for {} tokens", s.blocks.size(), s.num_computed);
  }
  return std::nullopt;
}

Violation check_sequence(const SequenceSnapshot& s) {
  if (s.num_tokens < s.prompt_len || s.prompt_len < 1) return "has no prompt";
  if (s.status == SequenceStatus::kRunning) return check_running(s);
  if (s.slot) return "holds a state slot without running";
  if (!s.blocks.empty()) return "holds blocks without running";
  if (s.status != SequenceStatus::kFinished && s.num_computed != 0) {
    return "waits with computed tokens";
  }
  return std::nullopt;
}

Violation check_blocks(const EngineSnapshot& snapshot) {
  std::vector<int32_t> owned(snapshot.block_ref_counts.size());
  for (const SequenceSnapshot& s : snapshot.sequences) {
    for (const int32_t block : s.blocks) {
      if (block < 0 || static_cast<size_t>(block) >= owned.size()) return "a block does not exist";
      ++owned[static_cast<size_t>(block)];
    }
  }
  for (size_t i = 0; i < owned.size(); ++i) {
    if (owned[i] != snapshot.block_ref_counts[i]) {
      return fmt::format("block {} has {} owners and a count of {}", i, owned[i],
                         snapshot.block_ref_counts[i]);
    }
  }
  const auto num_free = std::ranges::count(owned, 0);
  if (num_free != snapshot.num_free_blocks) return "the number of free blocks is wrong";
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
  return s;
}

std::optional<std::string> find_violation(const EngineSnapshot& snapshot) {
  for (const SequenceSnapshot& s : snapshot.sequences) {
    if (const Violation v = check_sequence(s)) {
      return fmt::format("choice {} of request {} {}", s.index, s.request, *v);
    }
  }
  for (const auto check : {check_blocks, check_slots, check_counts}) {
    if (Violation v = check(snapshot)) return v;
  }
  return std::nullopt;
}

}  // namespace deltaserve
