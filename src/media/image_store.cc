// Items are found by the hash of their files, so that finding one needs no decoding.
#include "media/image_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace deltaserve {
namespace {

// A list of more is slower to search than a small picture is to decode.
constexpr size_t kMaxKept = 1024;

size_t bytes_of(const VisionItem& item) {
  return item.patches.size();
}

}  // namespace

bool ImageStore::reserve(size_t bytes) {
  const size_t before = live_bytes_->fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= memory_.max_live_bytes) return true;
  live_bytes_->fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

Result<ImageStore::Item> ImageStore::load(Bytes file) {
  const Digest name = digest({file});
  if (Item kept = find(name)) return kept;
  const Result<ImagePlan> plan = processor_.inspect(file);
  if (!plan) return std::unexpected(plan.error());
  return load(name, plan->num_bytes, [&] { return processor_.process(file); });
}

Result<ImageStore::Item> ImageStore::load(const Digest& name, size_t bytes, const Make& make) {
  if (Item kept = find(name)) return kept;
  if (bytes > memory_.max_live_bytes) {
    return invalid(
        fmt::format("After resizing it takes {} bytes of memory: this server has {} for "
                    "images and videos.",
                    bytes, memory_.max_live_bytes));
  }
  if (!reserve(bytes)) {
    drop_kept();
    if (!reserve(bytes)) {
      return fail(ErrorCode::kUnavailable,
                  "Other requests take all memory for images and videos: try again later.");
    }
  }
  // From here on the bytes are given back by whatever owns them last.
  const std::shared_ptr<void> lease(nullptr, [live = live_bytes_, bytes](void*) {
    live->fetch_sub(bytes, std::memory_order_relaxed);
  });
  Result<Item> item = make();
  if (!item) return item;
  const VisionItem* address = item->get();
  Item counted(address, [owner = *std::move(item), lease](const VisionItem*) {});
  keep(name, counted);
  return counted;
}

ImageStore::Item ImageStore::find(const Digest& name) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(kept_, name, &Entry::name);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->item;
}

void ImageStore::keep(const Digest& name, const Item& item) {
  const std::lock_guard lock(mutex_);
  if (bytes_of(*item) > memory_.max_cached_bytes) return;
  if (std::ranges::find(kept_, name, &Entry::name) != kept_.end()) return;  // another thread's
  kept_.push_front({name, item});
  kept_bytes_ += bytes_of(*item);
  while (kept_bytes_ > memory_.max_cached_bytes || kept_.size() > kMaxKept) {
    kept_bytes_ -= bytes_of(*kept_.back().item);
    kept_.pop_back();
  }
}

void ImageStore::drop_kept() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace deltaserve
