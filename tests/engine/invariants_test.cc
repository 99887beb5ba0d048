// Each kind of damage is found in a snapshot that is otherwise sound.
#include "engine/invariants.h"

#include <gtest/gtest.h>

#include <functional>

namespace deltaserve {
namespace {

EngineSnapshot sound() {
  EngineSnapshot s;
  s.block_ref_counts = {1, 1, 0, 0};
  s.num_free_blocks = 2;
  s.slots_in_use = {1, 0};
  s.num_free_slots = 1;
  s.num_running = 1;
  s.num_waiting = 1;
  s.max_num_seqs = 2;
  s.sequences = {{.request = 1,
                  .status = SequenceStatus::kRunning,
                  .prompt_len = 20,
                  .num_tokens = 21,
                  .num_computed = 20,
                  .blocks = {0, 1},
                  .slot = 0,
                  .next_is_recurrent = true,
                  .pinned_node = {},
                  .inherited = {}},
                 {.request = 2,
                  .status = SequenceStatus::kPreempted,
                  .prompt_len = 3,
                  .num_tokens = 5,
                  .blocks = {},
                  .slot = {},
                  .pinned_node = {},
                  .inherited = {}},
                 {.request = 3,
                  .status = SequenceStatus::kFinished,
                  .prompt_len = 3,
                  .num_tokens = 5,
                  .blocks = {},
                  .slot = {},
                  .pinned_node = {},
                  .inherited = {}}};
  return s;
}

TEST(Invariants, HoldInASoundSnapshot) {
  EXPECT_EQ(find_violation(sound()), std::nullopt);
}

TEST(Invariants, FindEveryKindOfDamage) {
  using Damage = std::function<void(EngineSnapshot&)>;
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"leaked block", [](EngineSnapshot& s) { s.block_ref_counts[2] = 1; }},
      {"block counted twice", [](EngineSnapshot& s) { s.block_ref_counts[0] = 2; }},
      {"block of a free count", [](EngineSnapshot& s) { s.block_ref_counts[1] = 0; }},
      {"block lost from the free list", [](EngineSnapshot& s) { s.num_free_blocks = 1; }},
      {"block that does not exist", [](EngineSnapshot& s) { s.sequences[0].blocks[1] = 4; }},
      {"block owned twice", [](EngineSnapshot& s) { s.sequences[0].blocks[1] = 0; }},
      {"too few blocks", [](EngineSnapshot& s) { s.sequences[0].blocks.pop_back(); }},
      {"leaked slot", [](EngineSnapshot& s) { s.slots_in_use[1] = 1; }},
      {"slot lost from the free list", [](EngineSnapshot& s) { s.num_free_slots = 0; }},
      {"slot that does not exist", [](EngineSnapshot& s) { s.sequences[0].slot = 2; }},
      {"running without a slot", [](EngineSnapshot& s) { s.sequences[0].slot.reset(); }},
      {"waiting with a slot", [](EngineSnapshot& s) { s.sequences[1].slot = 1; }},
      {"waiting with blocks", [](EngineSnapshot& s) { s.sequences[1].blocks = {2}; }},
      {"waiting with computed tokens", [](EngineSnapshot& s) { s.sequences[1].num_computed = 1; }},
      {"finished with blocks", [](EngineSnapshot& s) { s.sequences[2].blocks = {2}; }},
      {"all computed", [](EngineSnapshot& s) { s.sequences[0].num_computed = 21; }},
      {"cut inside a chunk",
       [](EngineSnapshot& s) {
         s.sequences[0].num_computed = 19;
         s.sequences[0].next_is_recurrent = false;
       }},
      {"running and held", [](EngineSnapshot& s) { s.sequences[0].held_for = 9; }},
      {"held for more than it has",
       [](EngineSnapshot& s) {
         s.sequences[1].held_for = 9;
         s.sequences[1].held_until = 64;
       }},
      {"fewer tokens than the prompt", [](EngineSnapshot& s) { s.sequences[1].num_tokens = 2; }},
      {"running but not with the scheduler", [](EngineSnapshot& s) { s.num_running = 0; }},
      {"waiting but not with the scheduler", [](EngineSnapshot& s) { s.num_waiting = 2; }},
      {"too many run", [](EngineSnapshot& s) { s.max_num_seqs = 0; }},
  };
  for (const auto& [name, damage] : damages) {
    EngineSnapshot snapshot = sound();
    damage(snapshot);
    EXPECT_NE(find_violation(snapshot), std::nullopt) << name;
  }
}

// A sequence that pins the second of two cached chunks, the first has a snapshot.
EngineSnapshot sound_cache() {
  EngineSnapshot s;
  s.block_ref_counts = {2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0};
  s.num_free_blocks = 1;
  s.num_reclaimable_blocks = 4;
  s.slots_in_use = {1};
  s.num_running = 1;
  s.max_num_seqs = 1;
  s.snapshots_in_use = {1, 0};
  s.sequences = {{.request = 1,
                  .status = SequenceStatus::kRunning,
                  .prompt_len = 128,
                  .num_tokens = 129,
                  .num_computed = 128,
                  .blocks = {0, 1, 2, 3, 4, 5, 6, 7},
                  .slot = 0,
                  .next_is_recurrent = true,
                  .pinned_node = 2,
                  .inherited = {}}};
  NodeSnapshot first;
  first.id = 1;
  first.depth = 1;
  first.blocks = {0, 1, 2, 3};
  first.snapshot = 1;
  first.num_children = 2;
  first.num_device_children = 2;
  NodeSnapshot pinned;
  pinned.id = 2;
  pinned.parent = 1;
  pinned.depth = 2;
  pinned.blocks = {4, 5, 6, 7};
  pinned.num_pins = 1;
  NodeSnapshot other;
  other.id = 3;
  other.parent = 1;
  other.depth = 2;
  other.blocks = {8, 9, 10, 11};
  other.num_children = 1;
  other.evictable = true;
  NodeSnapshot on_host;
  on_host.id = 4;
  on_host.parent = 3;
  on_host.depth = 3;
  on_host.host_chunk = 7;
  on_host.host_state = 2;
  on_host.evictable = true;
  s.nodes = {first, pinned, other, on_host};
  s.num_host_chunks = 1;
  s.num_host_states = 1;
  return s;
}

TEST(Invariants, FindEveryKindOfDamageToTheCache) {
  EXPECT_EQ(find_violation(sound_cache()), std::nullopt);
  using Damage = std::function<void(EngineSnapshot&)>;
  const std::vector<std::pair<const char*, Damage>> damages = {
      {"cached block not counted", [](EngineSnapshot& s) { s.block_ref_counts[8] = 0; }},
      {"cached block does not exist", [](EngineSnapshot& s) { s.nodes[2].blocks[0] = 13; }},
      {"reclaimable miscounted", [](EngineSnapshot& s) { s.num_reclaimable_blocks = 12; }},
      {"snapshot lost", [](EngineSnapshot& s) { s.nodes[0].snapshot.reset(); }},
      {"snapshot in a running slot", [](EngineSnapshot& s) { s.nodes[0].snapshot = 0; }},
      {"snapshot slot does not exist", [](EngineSnapshot& s) { s.nodes[0].snapshot = 3; }},
      {"snapshot slot owned twice", [](EngineSnapshot& s) { s.nodes[1].snapshot = 1; }},
      {"parent lost", [](EngineSnapshot& s) { s.nodes[1].parent = 7; }},
      {"depth wrong", [](EngineSnapshot& s) { s.nodes[1].depth = 3; }},
      {"child lost", [](EngineSnapshot& s) { s.nodes[0].num_children = 1; }},
      {"pin lost", [](EngineSnapshot& s) { s.nodes[1].num_pins = 0; }},
      {"pinned but evictable", [](EngineSnapshot& s) { s.nodes[1].evictable = true; }},
      {"leaf not evictable", [](EngineSnapshot& s) { s.nodes[2].evictable = false; }},
      {"device child lost", [](EngineSnapshot& s) { s.nodes[0].num_device_children = 1; }},
      {"leaf of the device not evictable", [](EngineSnapshot& s) { s.nodes[2].evictable = false; }},
      {"host chunk lost", [](EngineSnapshot& s) { s.num_host_chunks = 2; }},
      {"host state lost", [](EngineSnapshot& s) { s.num_host_states = 0; }},
      {"device behind host",
       [](EngineSnapshot& s) {
         s.nodes[2].host_chunk = 5;
         s.nodes[3].host_chunk.reset();
       }},
      {"inner node evictable", [](EngineSnapshot& s) { s.nodes[0].evictable = true; }},
      {"prefix of other blocks",
       [](EngineSnapshot& s) { std::swap(s.sequences[0].blocks[0], s.sequences[0].blocks[1]); }},
  };
  for (const auto& [name, damage] : damages) {
    EngineSnapshot snapshot = sound_cache();
    damage(snapshot);
    EXPECT_NE(find_violation(snapshot), std::nullopt) << name;
  }
}

TEST(Invariants, FindTwoOwnersOfASlot) {
  EngineSnapshot s = sound();
  SequenceSnapshot twin = s.sequences[0];
  twin.request = 9;
  twin.blocks = {2, 3};
  s.sequences.push_back(twin);
  s.block_ref_counts = {1, 1, 1, 1};
  s.num_free_blocks = 0;
  s.num_running = 2;
  ASSERT_TRUE(find_violation(s).has_value());
  EXPECT_EQ(*find_violation(s), "slot 0 has two owners");
}

}  // namespace
}  // namespace deltaserve
