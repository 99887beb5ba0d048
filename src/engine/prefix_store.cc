// Files to nodes and back. Everything of the file system is asked through error codes.
#include "engine/prefix_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "base/check.h"
#include "cache/block_table.h"
#include "cache/prefix_pin.h"

namespace deltaserve {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".prefix";

// States of one file: the last one, and the first ones on the way, where instructions and tools
// end that other conversations begin with. A state may be larger than the KV of all its tokens.
constexpr size_t kMaxStates = 4;

struct FileEntry {
  fs::path path;
  fs::file_time_type written;
  int64_t bytes = 0;
};

std::vector<FileEntry> files_of(const fs::path& directory) {
  std::vector<FileEntry> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != kExtension || !it->is_regular_file(error) || error) continue;
    const auto written = it->last_write_time(error);
    const auto bytes = it->file_size(error);
    if (!error) files.push_back({it->path(), written, static_cast<int64_t>(bytes)});
  }
  if (error) spdlog::warn("prefix cache: {}: {}", directory.string(), error.message());
  std::ranges::sort(files, [](const FileEntry& a, const FileEntry& b) {
    return std::pair(a.written, a.path) > std::pair(b.written, b.path);
  });
  return files;
}

Result<std::vector<std::byte>> read_file(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) return invalid(error.message());
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file) return invalid("it cannot be read");
  return bytes;
}

// Whole or not at all, and for this user alone: it holds what people wrote.
Result<void> write_file(const fs::path& path, const std::vector<std::byte>& bytes) {
  fs::path partial = path;
  partial += ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  std::error_code error;
  fs::permissions(partial, fs::perms::owner_read | fs::perms::owner_write, error);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file && !error) fs::rename(partial, path, error);
  if (file && !error) return {};
  std::error_code ignored;
  fs::remove(partial, ignored);
  return invalid(error ? error.message() : "it cannot be written");
}

// The nodes of a prefix from the root's child on.
std::vector<const PrefixNode*> nodes_of(const PrefixNode& last) {
  std::vector<const PrefixNode*> nodes(static_cast<size_t>(last.depth));
  for (const PrefixNode* n = &last; n->parent != nullptr; n = n->parent) {
    nodes[static_cast<size_t>(n->depth - 1)] = n;
  }
  return nodes;
}

// Of what can be stored, up to the deepest state: pictures are known by their hashes alone, so that
// a prefix ends before the first.
void cut_to_storable(std::vector<const PrefixNode*>& nodes) {
  const auto picture =
      std::ranges::find_if(nodes, [](const PrefixNode* n) { return n->key.content != Hash128{}; });
  nodes.erase(picture, nodes.end());
  while (!nodes.empty() && !nodes.back()->has_state()) nodes.pop_back();
}

std::vector<const PrefixNode*> stored_states(const std::vector<const PrefixNode*>& nodes) {
  std::vector<const PrefixNode*> states;
  std::ranges::copy_if(nodes, std::back_inserter(states),
                       [](const PrefixNode* n) { return n->has_state(); });
  if (states.size() > kMaxStates) {
    states[kMaxStates - 1] = states.back();
    states.resize(kMaxStates);
  }
  return states;
}

}  // namespace

Result<void> check_prefix_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  const fs::path probe = directory / "probe.partial";
  if (!error) {
    std::ofstream file(probe);
    file << '\n';
    file.close();
    if (!file) error = std::make_error_code(std::errc::permission_denied);
    std::error_code ignored;
    fs::remove(probe, ignored);
  }
  if (!error) return {};
  return invalid(fmt::format("--prefix-cache-dir {}: {}", directory.string(), error.message()),
                 "prefix-cache-dir");
}

PrefixStore::PrefixStore(const PrefixStoreOptions& options, CacheTransfer& transfer)
    : directory_(options.directory),
      max_bytes_(options.max_bytes),
      format_{.fingerprint = hash_salt(options.fingerprint, 0),
              .block_bytes = transfer.block_bytes(),
              .state_bytes = transfer.state_bytes()},
      transfer_(&transfer) {}

fs::path PrefixStore::path_of(const NamedPrefixes::Entry& entry) const {
  const Hash128 hash = hash_salt(prefix_identity(entry.name, entry.salt), 0);
  return directory_ / fmt::format("{:016x}{:016x}{}", hash.high, hash.low, kExtension);
}

int64_t PrefixStore::load(PrefixIndex& index, BlockPool& blocks, const StatePool& snapshots) {
  int64_t num_loaded = 0;
  for (const FileEntry& file : files_of(directory_)) {
    if (snapshots.num_free() == 0 || blocks.num_free() < kBlocksPerChunk) break;
    if (file.bytes > max_bytes_) continue;
    try {
      if (load_file(file.path, index, blocks, snapshots)) ++num_loaded;
    } catch (const std::exception& e) {
      spdlog::warn("prefix cache: {} is ignored: {}", file.path.string(), e.what());
    }
  }
  return num_loaded;
}

bool PrefixStore::load_file(const fs::path& path, PrefixIndex& index, BlockPool& blocks,
                            const StatePool& snapshots) {
  const Result<std::vector<std::byte>> bytes = read_file(path);
  if (!bytes) {
    spdlog::warn("prefix cache: {} is ignored: {}", path.string(), bytes.error().message);
    return false;
  }
  const Result<StoredPrefix> prefix = read_prefix(format_, *bytes);
  if (!prefix) {
    spdlog::warn("prefix cache: {} is ignored: {}", path.string(), prefix.error().message);
    return false;
  }
  return bring_in(*prefix, index, blocks, snapshots);
}

bool PrefixStore::bring_in(const StoredPrefix& prefix, PrefixIndex& index, BlockPool& blocks,
                           const StatePool& snapshots) {
  BlockTable table(blocks);
  const auto num_chunks = static_cast<int64_t>(prefix.chunks.size());
  if (!table.reserve_tokens(num_chunks * kChunkSize)) return false;
  PrefixPin pin(index, index.root(prefix.salt));
  ChunkKey key;
  key.hash = hash_salt(prefix.salt, index.hash_seed());
  auto state = prefix.states.begin();
  for (int64_t i = 0; i < num_chunks; ++i) {
    const StoredChunk& chunk = prefix.chunks[static_cast<size_t>(i)];
    key.tokens = chunk.tokens;
    key.code = chunk.code;
    const std::span<const int32_t, kBlocksPerChunk> own(table.blocks().data() + i * kBlocksPerChunk,
                                                        kBlocksPerChunk);
    for (int64_t b = 0; b < kBlocksPerChunk; ++b) {
      const std::span<const int32_t, kBlockSize> tokens(key.tokens.data() + b * kBlockSize,
                                                        kBlockSize);
      key.hash = hash_block(key.hash, tokens, Hash128{});
      transfer_->load_block(chunk.kv.data() + b * format_.block_bytes, own[static_cast<size_t>(b)]);
    }
    PrefixNode* const node = index.extend(*pin.node(), key, own);
    if (node == nullptr) return false;
    pin = PrefixPin(index, *node);
    if (state->depth != i + 1) continue;
    if (!node->has_state() && snapshots.num_free() > 0) {
      StateSlot slot = index.reserve_snapshot().value();
      transfer_->load_state(state->bytes.data(), slot.id());
      index.attach_snapshot(*node, std::move(slot));
    }
    ++state;
  }
  return true;
}

int64_t PrefixStore::save(const std::vector<NamedPrefixes::Entry>& named, const HostTier* host) {
  int64_t num_saved = 0;
  int64_t bytes_left = max_bytes_;
  std::vector<fs::path> kept;
  for (const NamedPrefixes::Entry& entry : named) {
    const int64_t before = bytes_left;
    if (Result<void> saved = save_prefix(entry, host, bytes_left); !saved) {
      spdlog::warn("prefix cache: {} is not written: {}", path_of(entry).string(),
                   saved.error().message);
      continue;
    }
    if (bytes_left == before) continue;
    kept.push_back(path_of(entry));
    ++num_saved;
  }
  for (const FileEntry& file : files_of(directory_)) {
    if (std::ranges::find(kept, file.path) != kept.end()) continue;
    bytes_left -= file.bytes;
    if (bytes_left >= 0) continue;
    std::error_code error;
    fs::remove(file.path, error);
    if (error) spdlog::warn("prefix cache: {}: {}", file.path.string(), error.message());
  }
  return num_saved;
}

// Leaves `bytes_left` as it is where there is nothing to store, or no room for it.
Result<void> PrefixStore::save_prefix(const NamedPrefixes::Entry& entry, const HostTier* host,
                                      int64_t& bytes_left) {
  std::vector<const PrefixNode*> nodes = nodes_of(*entry.node);
  cut_to_storable(nodes);
  if (nodes.empty()) return {};
  const std::vector<const PrefixNode*> with_state = stored_states(nodes);
  StoredPrefix prefix{.name = entry.name, .salt = entry.salt, .chunks = {}, .states = {}};
  prefix.chunks.resize(nodes.size());
  prefix.states.resize(with_state.size());
  const int64_t bytes = prefix_file_bytes(format_, prefix);
  if (bytes > bytes_left) return {};
  const auto chunk_bytes = static_cast<size_t>(kBlocksPerChunk * format_.block_bytes);
  const auto state_bytes = static_cast<size_t>(format_.state_bytes);
  std::vector<std::byte> kv(nodes.size() * chunk_bytes);
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::byte* to = kv.data() + i * chunk_bytes;
    prefix.chunks[i] = {nodes[i]->key.code, nodes[i]->key.tokens, {to, chunk_bytes}};
    if (!nodes[i]->on_device()) {
      host->copy_chunk(*nodes[i], to);
      continue;
    }
    for (size_t b = 0; b < kBlocksPerChunk; ++b) {
      transfer_->save_block(nodes[i]->blocks[b], to + b * static_cast<size_t>(format_.block_bytes));
    }
  }
  std::vector<std::byte> states(with_state.size() * state_bytes);
  for (size_t i = 0; i < with_state.size(); ++i) {
    std::byte* const to = states.data() + i * state_bytes;
    prefix.states[i] = {with_state[i]->depth, {to, state_bytes}};
    if (with_state[i]->snapshot) {
      transfer_->save_state(with_state[i]->snapshot->id(), to);
    } else {
      host->copy_state(*with_state[i], to);
    }
  }
  if (Result<void> written = write_file(path_of(entry), write_prefix(format_, prefix)); !written) {
    return written;
  }
  bytes_left -= bytes;
  return {};
}

}  // namespace deltaserve
