// Names for token prefixes: a chain of 128-bit hashes, one a block of kBlockSize tokens, that
// starts with the cache salt. What is not in the token ids (an image's pixels) enters through
// content keys. The hash only finds candidates: whoever uses it compares tokens and keys as well,
// so that a collision, even one made on purpose, costs time and never gives wrong text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ops/batch_view.h"

namespace deltaserve {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

// For hash tables: the value is mixed already.
struct Hash128Hasher {
  size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
};

// What stands at a token beyond its id, for example the hash of the image that a placeholder run
// begins. It belongs to the block of its position.
struct ContentKey {
  int64_t position = 0;  // index in the prompt
  Hash128 hash;
};

// The start of a chain. `seed` is the process's own.
Hash128 hash_salt(std::string_view salt, uint64_t seed);

// The chain after one more block; `content` is zero for a block of text.
Hash128 hash_block(const Hash128& before, std::span<const int32_t, kBlockSize> tokens,
                   const Hash128& content);

// The keys with a position in [begin, end) as one value; zero if there is none. `keys` are sorted.
Hash128 fold_content(std::span<const ContentKey> keys, int64_t begin, int64_t end);

}  // namespace deltaserve
