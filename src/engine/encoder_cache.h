// Embeddings of pictures, by what the pictures show, so that one that comes again is not encoded
// again while there is room. A sequence pins all pictures its prompt still needs before it is
// admitted, all at once or none: two that wait for each other's room cannot be. What nobody pins is
// given up when others need the pages, the longest unused first.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/vision_encoder.h"
#include "media/vision_item.h"

namespace deltaserve {

struct EncodedItem {
  std::shared_ptr<const VisionItem> item;  // until it is encoded
  std::vector<int32_t> pages;
  bool ready = false;
  bool failed = false;  // the device failed: whoever waits for it ends with an error
  uint64_t last_use = 0;
};

using EncodedPin = std::shared_ptr<const EncodedItem>;

class EncoderCache {
 public:
  // `encoder` may be null: then there are no pictures. It must outlive this.
  explicit EncoderCache(VisionEncoder* encoder);

  // Pins for the items, those that are null stay null. New ones are encoded in the order in which
  // they come. Nothing if there is no room beside what is pinned.
  std::optional<std::vector<EncodedPin>> pin(
      std::span<const std::shared_ptr<const VisionItem>> items);

  // Whether something waits to be encoded, or is being so. What nobody pins any more is dropped.
  bool has_work();
  // Encodes for about `num_tokens` prompt tokens' time, at least one part; returns what it took.
  // Throws if the device fails; the items that were being encoded are then marked.
  int64_t advance(int64_t num_tokens);

  int64_t num_free_pages() const { return static_cast<int64_t>(free_pages_.size()); }
  int64_t num_items() const { return static_cast<int64_t>(items_.size()); }
  int64_t num_encoded() const { return num_encoded_; }  // so far
  int64_t num_queries() const { return num_queries_; }  // items that were pinned so far
  int64_t num_hits() const { return num_hits_; }        // of them, those that were there

 private:
  struct Key {
    std::array<uint64_t, 2> hash{};
    std::array<int32_t, 3> grid{};
    auto operator<=>(const Key&) const = default;
  };
  using Items = std::map<Key, std::shared_ptr<EncodedItem>>;

  static Key key_of(const VisionItem& item);
  static int64_t pages_of(const VisionItem& item);
  static bool is_pinned(const std::shared_ptr<EncodedItem>& item) { return item.use_count() > 1; }
  void erase(Items::iterator entry);
  bool make_room(int64_t num_pages, const std::vector<Key>& keep);
  void drop_unpinned();
  void start_jobs();
  void finish_jobs();

  VisionEncoder* encoder_;
  Items items_;
  std::deque<Key> queue_;    // not begun
  std::vector<Key> active_;  // being encoded together
  std::vector<int32_t> free_pages_;
  uint64_t clock_ = 0;
  int64_t num_encoded_ = 0;
  int64_t num_queries_ = 0;
  int64_t num_hits_ = 0;
};

}  // namespace deltaserve
