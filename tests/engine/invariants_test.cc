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
                  .slot = 0},
                 {.request = 2,
                  .status = SequenceStatus::kPreempted,
                  .prompt_len = 3,
                  .num_tokens = 5,
                  .blocks = {},
                  .slot = {}},
                 {.request = 3,
                  .status = SequenceStatus::kFinished,
                  .prompt_len = 3,
                  .num_tokens = 5,
                  .blocks = {},
                  .slot = {}}};
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
      {"cut inside a chunk", [](EngineSnapshot& s) { s.sequences[0].num_computed = 19; }},
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
