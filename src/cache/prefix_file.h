// A prefix of the cache as a file: its tokens, their KV, and recurrent states on the way, written
// by one run of the server and read by a later one. What a file holds is of use only to the very
// same model, dtype and memory layout, so that all of them are in its head, and a checksum is at
// its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cache/prefix_node.h"

namespace deltaserve {

// What must be equal between the server that wrote a file and the one that reads it.
struct PrefixFormat {
  Hash128 fingerprint;      // of weights, dtype and kernels
  int64_t block_bytes = 0;  // of a KV block over all layers
  int64_t state_bytes = 0;  // of a state slot over all layers
};

struct StoredChunk {
  ChunkCode code = 0;
  std::array<int32_t, kChunkSize> tokens{};
  std::span<const std::byte> kv;  // [kBlocksPerChunk * block_bytes]
};

struct StoredState {
  int64_t depth = 0;                 // chunks before it, at least 1
  std::span<const std::byte> bytes;  // [state_bytes]
};

// The spans point into the file's bytes, or to whoever writes them.
struct StoredPrefix {
  std::string name;  // at least one byte
  std::string salt;
  std::vector<StoredChunk> chunks;  // at least one
  std::vector<StoredState> states;  // at least one, by depth; the last one behind the last chunk
};

inline constexpr size_t kMaxPrefixNameBytes = 1024;  // of name and of salt

// Bytes of a file with so many chunks and states. The counts are a file's own: below 2^32.
int64_t prefix_file_bytes(const PrefixFormat& format, const StoredPrefix& prefix);

std::vector<std::byte> write_prefix(const PrefixFormat& format, const StoredPrefix& prefix);

// Errors (kInvalidArgument): not such a file, written for something else, cut, changed. Accepts
// exactly what write_prefix writes.
Result<StoredPrefix> read_prefix(const PrefixFormat& format, std::span<const std::byte> file);

// The checksum that ends a file, of all bytes before it.
Hash128 prefix_checksum(std::span<const std::byte> bytes);

}  // namespace deltaserve
