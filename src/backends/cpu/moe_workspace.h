// What a block of tokens of moe works on: its pairs (token, expert) sorted by expert, and their
// rows in shared scratch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/experts_weight.h"
#include "ops/moe_args.h"

namespace deltaserve {

// Rows of one expert that are done together: sorted places [begin, end).
struct MoeWork {
  int32_t expert = 0;
  int32_t begin = 0;
  int32_t end = 0;
};

// Shared scratch of a block of tokens; without memory only its size.
struct MoeWorkspace {
  int32_t* expert_start;  // [E + 1] first place of each expert
  int32_t* token_of;      // [pairs] by place
  int32_t* place_of;      // [T, K]
  MoeWork* works;
  std::byte* x;    // packed rows of H, by place
  std::byte* act;  // packed rows of I, by place
  float* inner;    // [pairs, I] X by place, if they are packed later
  float* out;      // [pairs, H] by place
  int64_t num_works = 0;
  int64_t bytes = 0;

  MoeWorkspace(std::byte* memory, int64_t tokens, int64_t K, const CpuExpertsWeight& weight);
};

// Counting sort of the pairs by expert, within an expert in the order of the tokens, into works of
// at most kMaxTaskRows rows. ids[tokens, args.K]; one that no expert has breaks an invariant.
void sort_by_expert(const MoeArgs& args, int64_t tokens, const int32_t* ids, MoeWorkspace& ws);

}  // namespace deltaserve
