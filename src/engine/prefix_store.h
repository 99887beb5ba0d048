// Named prefixes on disk: a file each, written when the engine stops and read before it starts. A
// file that cannot be used, for whatever reason, costs a line in the log and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cache/host_tier.h"
#include "cache/named_prefixes.h"
#include "cache/prefix_file.h"
#include "cache/prefix_index.h"

namespace deltaserve {

struct PrefixStoreOptions {
  std::filesystem::path directory;  // empty: no store
  int64_t max_bytes = 0;            // of all files together
  std::string fingerprint;          // of the model, its dtype and its kernels
};

// Makes the directory if need be. Errors: it cannot be made or written to.
Result<void> check_prefix_directory(const std::filesystem::path& directory);

class PrefixStore {
 public:
  // `transfer` must outlive this.
  PrefixStore(const PrefixStoreOptions& options, CacheTransfer& transfer);

  // Brings files into the index, those written last first, as long as there are free blocks and
  // snapshots. Returns their number.
  int64_t load(PrefixIndex& index, BlockPool& blocks, const StatePool& snapshots);

  // Writes the prefixes, the first ones first, as far as the bytes go; files of other names give
  // way, the oldest first. `host`: where what is not on the device lies; null: no host tier.
  // Returns their number.
  int64_t save(const std::vector<NamedPrefixes::Entry>& named, const HostTier* host);

 private:
  bool load_file(const std::filesystem::path& path, PrefixIndex& index, BlockPool& blocks,
                 const StatePool& snapshots);
  bool bring_in(const StoredPrefix& prefix, PrefixIndex& index, BlockPool& blocks,
                const StatePool& snapshots);
  Result<void> save_prefix(const NamedPrefixes::Entry& entry, const HostTier* host,
                           int64_t& bytes_left);
  std::filesystem::path path_of(const NamedPrefixes::Entry& entry) const;

  std::filesystem::path directory_;
  int64_t max_bytes_;
  PrefixFormat format_;
  CacheTransfer* transfer_;
};

}  // namespace deltaserve
