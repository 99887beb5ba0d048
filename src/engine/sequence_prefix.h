// What ties a sequence to the prefix cache.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cache/prefix_pin.h"

namespace deltaserve {

struct SequencePrefix {
  std::vector<Hash128> hashes;  // of its chunks, as far as they were needed
  // How the chunks were computed that it took from the cache, if any of them not as a prompt.
  std::vector<ChunkCode> inherited;
  PrefixPin pin;          // the last of its computed chunks that the index has
  PrefixPin device_pin;   // the last before it on the device, until the rest is there too
  bool detached = false;  // the index took one of its chunks not: nor does it those behind
  int64_t num_known = 0;  // tokens whose KV was found, beyond what could be resumed
  int64_t num_found = 0;  // of them, with which it was admitted
  // Chunk borders where waiting sequences part from it, ascending: see PrefixSharing.
  std::vector<int64_t> partings;
  std::optional<uint64_t> held_for;  // it waits for the sequence of this arrival
  int64_t held_until = 0;            // to have computed so many tokens
  // Of its chunks the one with the newest snapshot of the answer, and that snapshot.
  PrefixNode* last_answer = nullptr;
  int32_t last_answer_slot = -1;
};

}  // namespace deltaserve
