// Pages, pins and the order of encoding.
#include "engine/encoder_cache.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/check.h"
#include "model/embedding_copies.h"

namespace deltaserve {

EncoderCache::EncoderCache(VisionEncoder* encoder) : encoder_(encoder) {
  if (encoder == nullptr) return;
  free_pages_.resize(static_cast<size_t>(encoder->num_pages()));
  // Taken from the back: the lowest first, so that a picture's pages lie side by side.
  std::iota(free_pages_.rbegin(), free_pages_.rend(), 0);
}

EncoderCache::Key EncoderCache::key_of(const VisionItem& item) {
  return {.hash = item.content_hash, .grid = {item.grid_t, item.grid_h, item.grid_w}};
}

int64_t EncoderCache::pages_of(const VisionItem& item) {
  return vision_pages_for(item.num_tokens());
}

void EncoderCache::erase(Items::iterator entry) {
  const std::vector<int32_t>& pages = entry->second->pages;
  free_pages_.insert(free_pages_.end(), pages.rbegin(), pages.rend());
  items_.erase(entry);
}

// Gives up what nobody pins until so many pages are free; nothing if that cannot be.
bool EncoderCache::make_room(int64_t num_pages, const std::vector<Key>& keep) {
  std::vector<Items::iterator> victims;
  int64_t reachable = num_free_pages();
  for (auto entry = items_.begin(); entry != items_.end(); ++entry) {
    if (!entry->second->ready || is_pinned(entry->second)) continue;
    if (std::ranges::find(keep, entry->first) != keep.end()) continue;
    victims.push_back(entry);
    reachable += static_cast<int64_t>(entry->second->pages.size());
  }
  if (reachable < num_pages) return false;
  std::ranges::sort(victims, {}, [](const auto& entry) { return entry->second->last_use; });
  for (const auto& victim : victims) {
    if (num_free_pages() >= num_pages) break;
    erase(victim);
  }
  return true;
}

std::optional<std::vector<EncodedPin>> EncoderCache::pin(
    std::span<const std::shared_ptr<const VisionItem>> items) {
  DS_CHECK(encoder_ != nullptr);
  drop_unpinned();
  std::vector<Key> wanted;
  int64_t missing = 0;
  for (const auto& item : items) {
    if (item == nullptr) continue;
    const Key key = key_of(*item);
    if (std::ranges::find(wanted, key) != wanted.end()) continue;
    wanted.push_back(key);
    if (!items_.contains(key)) missing += pages_of(*item);
  }
  if (!make_room(missing, wanted)) return std::nullopt;
  std::vector<EncodedPin> pins;
  for (const auto& item : items) {
    if (item == nullptr) {
      pins.push_back(nullptr);
      continue;
    }
    const Key key = key_of(*item);
    std::shared_ptr<EncodedItem>& entry = items_[key];
    ++num_queries_;
    if (entry != nullptr) {
      ++num_hits_;
    } else {
      entry = std::make_shared<EncodedItem>();
      entry->item = item;
      for (int64_t i = 0; i < pages_of(*item); ++i) {
        entry->pages.push_back(free_pages_.back());
        free_pages_.pop_back();
      }
      queue_.push_back(key);
    }
    entry->last_use = ++clock_;
    pins.push_back(entry);
  }
  return pins;
}

// A picture of an aborted request is not encoded to its end, unless it goes with one that is
// wanted.
void EncoderCache::drop_unpinned() {
  const auto is_wanted = [this](const Key& key) {
    const auto entry = items_.find(key);
    return entry != items_.end() && is_pinned(entry->second);
  };
  std::erase_if(queue_, [&](const Key& key) {
    if (is_wanted(key)) return false;
    erase(items_.find(key));
    return true;
  });
  if (std::ranges::any_of(active_, is_wanted)) return;
  for (const Key& key : active_) erase(items_.find(key));
  if (!active_.empty()) encoder_->begin({});
  active_.clear();
}

bool EncoderCache::has_work() {
  drop_unpinned();
  return !queue_.empty() || !active_.empty();
}

// Small pictures go together.
void EncoderCache::start_jobs() {
  std::vector<VisionJob> jobs;
  int64_t num_patches = 0;
  while (!queue_.empty()) {
    const std::shared_ptr<EncodedItem>& entry = items_.at(queue_.front());
    num_patches += entry->item->num_patches();
    if (!jobs.empty() && num_patches > kVisionPartRows) break;
    jobs.push_back({.item = entry->item, .pages = entry->pages});
    active_.push_back(queue_.front());
    queue_.pop_front();
  }
  encoder_->begin(std::move(jobs));
}

void EncoderCache::finish_jobs() {
  for (const Key& key : active_) {
    EncodedItem& item = *items_.at(key);
    item.ready = true;
    item.item.reset();
    ++num_encoded_;
  }
  active_.clear();
}

int64_t EncoderCache::advance(int64_t num_tokens) {
  int64_t spent = 0;
  try {
    while (has_work() && (spent == 0 || spent < num_tokens)) {
      if (active_.empty()) start_jobs();
      spent += std::max<int64_t>(1, encoder_->advance(num_tokens - spent));
      if (!encoder_->busy()) finish_jobs();
    }
  } catch (...) {
    // Out of the map at once: who comes next begins anew.
    for (const Key& key : active_) {
      const auto entry = items_.find(key);
      entry->second->failed = true;
      erase(entry);
    }
    active_.clear();
    encoder_->begin({});
    throw;
  }
  return spent;
}

}  // namespace deltaserve
