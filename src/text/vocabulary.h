// The tokens of the BPE model: raw bytes by id and id by raw bytes. Filled once, then read by many
// threads. Ids may have gaps; two tokens never share an id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace deltaserve {

class Vocabulary {
 public:
  static constexpr int32_t kNoToken = -1;
  // Ids a file may use: four times the largest published vocabulary, so that one absurd id in a
  // file cannot ask for gigabytes.
  static constexpr int64_t kMaxIds = int64_t{1} << 20;

  explicit Vocabulary(size_t expected_tokens);

  // Adds a token as the file writes it (byte alphabet, valid UTF-8) with 0 <= id < kMaxIds. False
  // if the id or the text is taken.
  bool add(std::string_view text, int32_t id);

  // The id of a byte sequence, or kNoToken.
  int32_t find(std::string_view bytes) const {
    if (bytes.size() > longest_) return kNoToken;
    const Slot& slot = slots_[slot_of(bytes, hash(bytes))];
    return slot.id;
  }

  // As find, and kNoToken unless the token was marked direct.
  int32_t find_direct(std::string_view bytes) const {
    if (bytes.size() > longest_) return kNoToken;
    const Slot& slot = slots_[slot_of(bytes, hash(bytes))];
    return slot.is_direct ? slot.id : kNoToken;
  }

  // The id of a token as the file writes it, also of one that is outside the byte alphabet and so
  // never comes out of BPE.
  std::optional<int32_t> find_text(std::string_view text) const;

  // A direct token is what BPE makes of its own bytes, so a word equal to it needs no merging.
  void mark_direct(int32_t id);

  // The bytes of a token; "" for an id without one. `id` may be any number.
  std::string_view bytes(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= entries_.size()) return {};
    const Entry& entry = entries_[static_cast<size_t>(id)];
    return std::string_view(blob_).substr(entry.begin, entry.length);
  }

  bool contains(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < entries_.size() &&
           entries_[static_cast<size_t>(id)].exists;
  }

  int32_t id_end() const { return static_cast<int32_t>(entries_.size()); }  // highest id + 1

 private:
  struct Entry {
    size_t begin = 0;
    uint32_t length = 0;
    bool exists = false;
  };
  struct Slot {
    uint32_t tag = 0;  // high half of the hash
    int32_t id = kNoToken;
    uint32_t begin = 0;
    uint16_t length = 0;
    bool is_direct = false;
  };

  static uint64_t hash(std::string_view bytes);
  size_t slot_of(std::string_view bytes, uint64_t bytes_hash) const;
  void grow();

  std::string blob_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t used_slots_ = 0;
  size_t longest_ = 0;  // bytes of the longest token that `find` knows
  std::unordered_map<std::string, int32_t> outside_alphabet_;
};

}  // namespace deltaserve
