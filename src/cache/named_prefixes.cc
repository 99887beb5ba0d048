// A list in order of use and a table into it.
#include "cache/named_prefixes.h"

#include <algorithm>
#include <iterator>

namespace deltaserve {
namespace {

// Agents name every conversation; a file for each of the last thousand is more than a restart
// needs.
constexpr size_t kMaxNames = 1024;

}  // namespace

std::string prefix_identity(std::string_view name, std::string_view salt) {
  std::string identity = std::to_string(salt.size());
  identity += ':';
  identity += salt;
  identity += name;
  return identity;
}

void NamedPrefixes::put(std::string_view name, std::string_view salt, const PrefixNode& node) {
  const std::string identity = prefix_identity(name, salt);
  if (const auto known = by_name_.find(identity); known != by_name_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
  } else {
    entries_.push_front({.name = std::string(name), .salt = std::string(salt)});
    by_name_.emplace(identity, entries_.begin());
  }
  entries_.front().node = &node;
  entries_.front().node_id = node.id;
  if (entries_.size() <= kMaxNames) return;
  by_name_.erase(prefix_identity(entries_.back().name, entries_.back().salt));
  entries_.pop_back();
}

std::vector<NamedPrefixes::Entry> NamedPrefixes::newest_first() const {
  std::vector<Entry> out;
  std::ranges::copy_if(entries_, std::back_inserter(out),
                       [](const Entry& entry) { return entry.holds(); });
  return out;
}

}  // namespace deltaserve
