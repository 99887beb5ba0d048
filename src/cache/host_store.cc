// A stack of free entries and a flag for each.
#include "cache/host_store.h"

#include "base/check.h"

namespace deltaserve {

HostStore::HostStore(int64_t entry_bytes, int64_t num_entries) : entry_bytes_(entry_bytes) {
  DS_CHECK(entry_bytes >= 0 && num_entries >= 0);
  // Not initialised: pages are backed as entries are used.
  memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(entry_bytes) *
                                                        static_cast<size_t>(num_entries));
  in_use_.resize(static_cast<size_t>(num_entries));
  free_.reserve(in_use_.size());
  for (int64_t i = num_entries - 1; i >= 0; --i) free_.push_back(static_cast<int32_t>(i));
}

bool HostStore::in_use(int32_t entry) const {
  return in_use_.at(static_cast<size_t>(entry)) != 0;
}

std::optional<int32_t> HostStore::allocate() {
  if (free_.empty()) return std::nullopt;
  const int32_t entry = free_.back();
  free_.pop_back();
  in_use_[static_cast<size_t>(entry)] = 1;
  return entry;
}

void HostStore::release(int32_t entry) {
  DS_CHECK(in_use(entry), "the entry is free already");
  in_use_[static_cast<size_t>(entry)] = 0;
  free_.push_back(entry);
}

std::byte* HostStore::data(int32_t entry) {
  DS_CHECK(in_use(entry));
  return memory_.get() + static_cast<int64_t>(entry) * entry_bytes_;
}

const std::byte* HostStore::data(int32_t entry) const {
  DS_CHECK(in_use(entry));
  return memory_.get() + static_cast<int64_t>(entry) * entry_bytes_;
}

}  // namespace deltaserve
