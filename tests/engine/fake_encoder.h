// A vision tower made of hashes: a patch costs a token's time, a row of embeddings is the hash of
// what the picture is and of the row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/vision_encoder.h"

namespace deltaserve {

class FakeEncoder : public VisionEncoder {
 public:
  explicit FakeEncoder(int64_t num_pages)
      : num_pages_(num_pages), rows_(static_cast<size_t>(num_pages * kVisionPageRows)) {}

  int64_t num_pages() const override { return num_pages_; }
  Result<void> check(const VisionItem& item) const override {
    if (item.grid_h > 1000) return invalid("too large", "messages");
    return {};
  }
  void begin(std::vector<VisionJob> jobs) override {
    jobs_ = std::move(jobs);
    left_ = 0;
    for (const VisionJob& job : jobs_) left_ += job.item->num_patches();
  }
  bool busy() const override { return !jobs_.empty(); }
  int64_t advance(int64_t num_tokens) override {
    if (on_advance) on_advance();
    const int64_t spent = std::min(left_, std::max<int64_t>(1, num_tokens));
    left_ -= spent;
    patches_encoded += spent;
    if (left_ == 0) {
      for (const VisionJob& job : jobs_) write(job);
      jobs_.clear();
    }
    return spent;
  }

  uint64_t row(int64_t i) const { return rows_.at(static_cast<size_t>(i)); }

  std::function<void()> on_advance;  // may throw
  int64_t patches_encoded = 0;

 private:
  void write(const VisionJob& job) {
    for (int64_t r = 0; r < job.item->num_tokens(); ++r) {
      const int64_t page = job.pages.at(static_cast<size_t>(r / kVisionPageRows));
      const uint64_t hash = job.item->content_hash[0] * 0x9E3779B97F4A7C15U;
      rows_.at(static_cast<size_t>(page * kVisionPageRows + r % kVisionPageRows)) =
          (hash ^ static_cast<uint64_t>(r)) * 0xBF58476D1CE4E5B9U;
    }
  }

  int64_t num_pages_;
  std::vector<uint64_t> rows_;
  std::vector<VisionJob> jobs_;
  int64_t left_ = 0;
};

}  // namespace deltaserve
