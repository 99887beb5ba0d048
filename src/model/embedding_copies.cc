// Placeholders to rows of pages.
#include "model/embedding_copies.h"

#include <algorithm>

#include "base/check.h"
#include "model/vision_tower.h"

namespace deltaserve {

int64_t vision_pages_for(int64_t num_rows) {
  return (num_rows + kVisionPageRows - 1) / kVisionPageRows;
}

void append_embedding_copies(const PromptLayout& layout,
                             std::span<const std::span<const int32_t>> pages, int64_t begin,
                             int64_t end, int32_t row, std::vector<EmbeddingCopy>& copies) {
  for (const VisionRun& run : layout.runs()) {
    const int64_t last = std::min(end, run.end());
    for (int64_t token = std::max(begin, run.begin); token < last;) {
      const int64_t source = run.first_row + token - run.begin;
      const int64_t offset = source % kVisionPageRows;
      const int64_t count = std::min(kVisionPageRows - offset, last - token);
      const auto page = static_cast<size_t>(source / kVisionPageRows);
      const std::span<const int32_t> own = pages[static_cast<size_t>(run.item)];
      DS_CHECK(page < own.size(), "a picture that is not encoded");
      copies.push_back({.row = row + static_cast<int32_t>(token - begin),
                        .from = own[page] * kVisionPageRows + offset,
                        .count = static_cast<int32_t>(count)});
      token += count;
    }
  }
}

}  // namespace deltaserve
