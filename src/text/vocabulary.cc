// See vocabulary.h. An open-addressing table with 16-byte slots: a hit costs one miss of the cache
// for the slot and one for the bytes.
#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "text/byte_alphabet.h"

namespace deltaserve {
namespace {

constexpr size_t kMinSlots = 1024;
constexpr uint64_t kA = 0x9E3779B97F4A7C15;  // hash multipliers: odd, bits well spread
constexpr uint64_t kB = 0xD6E8FEB86659FD93;

uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t load_bytes(const char* p, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, p, count);
  return value;
}

}  // namespace

Vocabulary::Vocabulary(size_t expected_tokens)
    : slots_(std::max(kMinSlots, std::bit_ceil(2 * expected_tokens))) {
  entries_.reserve(expected_tokens);
}

// A multiply-and-fold hash over 8 bytes at a time. The keys come from the model's own file and
// lookups insert nothing, so it need not resist an attacker.
uint64_t Vocabulary::hash(std::string_view bytes) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t state = bytes.size() * kA;
  for (; left > 8; left -= 8, p += 8) state = mix(state ^ load_bytes(p, 8), kB);
  return mix(state ^ load_bytes(p, left), kA ^ kB);
}

size_t Vocabulary::slot_of(std::string_view bytes, uint64_t bytes_hash) const {
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(bytes_hash >> 32);
  for (size_t i = bytes_hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == kNoToken) return i;
    if (slot.tag == tag && slot.length == bytes.size() &&
        std::memcmp(blob_.data() + slot.begin, bytes.data(), bytes.size()) == 0) {
      return i;
    }
  }
}

void Vocabulary::grow() {
  std::vector<Slot> old(2 * slots_.size());
  std::swap(old, slots_);
  for (const Slot& slot : old) {
    if (slot.id == kNoToken) continue;
    const std::string_view bytes(blob_.data() + slot.begin, slot.length);
    slots_[slot_of(bytes, hash(bytes))] = slot;
  }
}

bool Vocabulary::add(std::string_view text, int32_t id) {
  DS_CHECK(id >= 0 && id < kMaxIds);
  if (contains(id)) return false;
  const std::optional<std::string> decoded = bytes_from_alphabet(text);
  const std::string_view bytes = decoded ? std::string_view(*decoded) : text;
  const bool is_findable = decoded && bytes.size() <= std::numeric_limits<uint16_t>::max() &&
                           blob_.size() <= std::numeric_limits<uint32_t>::max();
  if (is_findable) {
    if (2 * (used_slots_ + 1) > slots_.size()) grow();
    const uint64_t bytes_hash = hash(bytes);
    Slot& slot = slots_[slot_of(bytes, bytes_hash)];
    if (slot.id != kNoToken) return false;
    slot = {static_cast<uint32_t>(bytes_hash >> 32), id, static_cast<uint32_t>(blob_.size()),
            static_cast<uint16_t>(bytes.size()), false};
    ++used_slots_;
    longest_ = std::max(longest_, bytes.size());
  } else if (!outside_alphabet_.try_emplace(std::string(text), id).second) {
    return false;
  }
  if (std::cmp_greater_equal(id, entries_.size())) entries_.resize(static_cast<size_t>(id) + 1);
  entries_[static_cast<size_t>(id)] = {blob_.size(), static_cast<uint32_t>(bytes.size()), true};
  blob_.append(bytes);
  return true;
}

std::optional<int32_t> Vocabulary::find_text(std::string_view text) const {
  if (const std::optional<std::string> decoded = bytes_from_alphabet(text)) {
    if (const int32_t id = find(*decoded); id != kNoToken) return id;
  }
  if (outside_alphabet_.empty()) return std::nullopt;
  const auto entry = outside_alphabet_.find(std::string(text));
  if (entry == outside_alphabet_.end()) return std::nullopt;
  return entry->second;
}

void Vocabulary::mark_direct(int32_t id) {
  const std::string_view token = bytes(id);
  Slot& slot = slots_[slot_of(token, hash(token))];
  DS_CHECK(slot.id == id);
  slot.is_direct = true;
}

}  // namespace deltaserve
