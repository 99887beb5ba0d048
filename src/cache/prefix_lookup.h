// What the prefix index is asked, and what it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "cache/prefix_node.h"

namespace deltaserve {

// Fills in chunk i of the prefix that is looked for.
using ChunkReader = std::function<void(int64_t chunk, ChunkKey& key)>;

// Which of the ways to compute a chunk a lookup accepts.
enum class ChunkMatch : uint8_t {
  kAny,
  kPrompt,  // code 0 only
  kExact,   // the code of the key
};

struct PrefixLookup {
  std::string_view salt;
  int64_t num_chunks = 0;  // at most
  ChunkMatch match = ChunkMatch::kAny;
};

struct PrefixMatch {
  PrefixNode* node = nullptr;    // the deepest with a state; null: none
  int64_t num_known_tokens = 0;  // whose KV is here, with or without a snapshot at their end
};

}  // namespace deltaserve
