// One head of fixed size, then name, salt, chunks, states and the checksum, without gaps, in the
// byte order of the machine. Sizes are checked against the file's before anything is read.
#include "cache/prefix_file.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace deltaserve {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

// Any 64-bit number that is no beginning of another kind of file; the 1 is the version.
constexpr uint64_t kMagic = 0x3158494645525044U;  // "DPREFIX1"

struct Head {
  uint64_t magic = kMagic;
  Hash128 fingerprint;
  int64_t block_bytes = 0;
  int64_t state_bytes = 0;
  uint32_t chunk_size = kChunkSize;
  uint32_t name_bytes = 0;
  uint32_t salt_bytes = 0;
  uint32_t num_chunks = 0;
  uint32_t num_states = 0;
  uint32_t unused = 0;
};
static_assert(sizeof(Head) == 64);

int64_t chunk_bytes(const PrefixFormat& format) {
  return int64_t{sizeof(int32_t)} * (1 + kChunkSize) + kBlocksPerChunk * format.block_bytes;
}

int64_t state_entry_bytes(const PrefixFormat& format) {
  return int64_t{sizeof(int64_t)} + format.state_bytes;
}

// Products of 32-bit counts with entry sizes, which are of this server's own memory and far below
// 2^31 * 2^32: no overflow.
int64_t file_bytes(const PrefixFormat& format, const Head& head) {
  return int64_t{sizeof(Head)} + head.name_bytes + head.salt_bytes +
         int64_t{head.num_chunks} * chunk_bytes(format) +
         int64_t{head.num_states} * state_entry_bytes(format) + int64_t{sizeof(Hash128)};
}

Head head_of(const PrefixFormat& format, const StoredPrefix& prefix) {
  Head head;
  head.fingerprint = format.fingerprint;
  head.block_bytes = format.block_bytes;
  head.state_bytes = format.state_bytes;
  head.name_bytes = static_cast<uint32_t>(prefix.name.size());
  head.salt_bytes = static_cast<uint32_t>(prefix.salt.size());
  head.num_chunks = static_cast<uint32_t>(prefix.chunks.size());
  head.num_states = static_cast<uint32_t>(prefix.states.size());
  return head;
}

class Writer {
 public:
  explicit Writer(int64_t size) { out_.reserve(static_cast<size_t>(size)); }
  void bytes(std::span<const std::byte> data) { out_.insert(out_.end(), data.begin(), data.end()); }
  void text(std::string_view text) { bytes(std::as_bytes(std::span(text))); }
  template <typename T>
  void value(const T& value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  std::vector<std::byte>& out() { return out_; }

 private:
  std::vector<std::byte> out_;
};

// Over bytes whose number has been checked.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  std::span<const std::byte> bytes(int64_t count) {
    const auto taken = in_.first(static_cast<size_t>(count));
    in_ = in_.subspan(static_cast<size_t>(count));
    return taken;
  }
  std::string text(uint32_t count) {
    const auto taken = bytes(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  template <typename T>
  T value() {
    T out;
    std::memcpy(&out, bytes(sizeof(T)).data(), sizeof(T));
    return out;
  }

 private:
  std::span<const std::byte> in_;
};

Result<void> check_head(const PrefixFormat& format, const Head& head, size_t size) {
  if (head.magic != kMagic || head.unused != 0) return invalid("it is no prefix of this version");
  if (head.fingerprint != format.fingerprint || head.block_bytes != format.block_bytes ||
      head.state_bytes != format.state_bytes || head.chunk_size != kChunkSize) {
    return invalid("it was written for another model, dtype or kernel");
  }
  const bool counted = head.name_bytes >= 1 && head.name_bytes <= kMaxPrefixNameBytes &&
                       head.salt_bytes <= kMaxPrefixNameBytes && head.num_chunks >= 1 &&
                       head.num_states >= 1 && head.num_states <= head.num_chunks;
  if (!counted || file_bytes(format, head) != static_cast<int64_t>(size)) {
    return invalid("its size is not what its head says");
  }
  return {};
}

Result<void> read_chunks(const PrefixFormat& format, const Head& head, Reader& reader,
                         StoredPrefix& prefix) {
  prefix.chunks.resize(head.num_chunks);
  for (StoredChunk& chunk : prefix.chunks) {
    const auto code = reader.value<uint32_t>();
    if (code > kChunkSize) return invalid("a chunk of it was computed in no known way");
    chunk.code = static_cast<ChunkCode>(code);
    chunk.tokens = reader.value<std::array<int32_t, kChunkSize>>();
    chunk.kv = reader.bytes(kBlocksPerChunk * format.block_bytes);
  }
  return {};
}

Result<void> read_states(const PrefixFormat& format, const Head& head, Reader& reader,
                         StoredPrefix& prefix) {
  prefix.states.resize(head.num_states);
  int64_t before = 0;
  for (StoredState& state : prefix.states) {
    state.depth = reader.value<int64_t>();
    state.bytes = reader.bytes(format.state_bytes);
    if (state.depth <= before) return invalid("its states are in no order");
    before = state.depth;
  }
  if (before != int64_t{head.num_chunks}) return invalid("it does not end with a state");
  return {};
}

}  // namespace

int64_t prefix_file_bytes(const PrefixFormat& format, const StoredPrefix& prefix) {
  return file_bytes(format, head_of(format, prefix));
}

Hash128 prefix_checksum(std::span<const std::byte> bytes) {
  return hash_salt({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kMagic);
}

std::vector<std::byte> write_prefix(const PrefixFormat& format, const StoredPrefix& prefix) {
  const Head head = head_of(format, prefix);
  Writer writer(file_bytes(format, head));
  writer.value(head);
  writer.text(prefix.name);
  writer.text(prefix.salt);
  for (const StoredChunk& chunk : prefix.chunks) {
    writer.value(uint32_t{chunk.code});
    writer.value(chunk.tokens);
    writer.bytes(chunk.kv);
  }
  for (const StoredState& state : prefix.states) {
    writer.value(state.depth);
    writer.bytes(state.bytes);
  }
  writer.value(prefix_checksum(writer.out()));
  DS_CHECK(static_cast<int64_t>(writer.out().size()) == file_bytes(format, head));
  return std::move(writer.out());
}

Result<StoredPrefix> read_prefix(const PrefixFormat& format, std::span<const std::byte> file) {
  if (file.size() < sizeof(Head) + sizeof(Hash128)) return invalid("it is cut");
  Reader reader(file);
  const auto head = reader.value<Head>();
  if (Result<void> checked = check_head(format, head, file.size()); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const auto body = file.first(file.size() - sizeof(Hash128));
  if (Reader(file.subspan(body.size())).value<Hash128>() != prefix_checksum(body)) {
    return invalid("its checksum is wrong");
  }
  StoredPrefix prefix;
  prefix.name = reader.text(head.name_bytes);
  prefix.salt = reader.text(head.salt_bytes);
  Result<void> done = read_chunks(format, head, reader, prefix);
  if (done) done = read_states(format, head, reader, prefix);
  if (!done) return std::unexpected(std::move(done.error()));
  return prefix;
}

}  // namespace deltaserve
