// Where the pictures of a prompt stand among its tokens, and the M-RoPE position that every token
// has because of them. A picture's placeholders lie side by side in its own grid of rows and
// columns; the text behind it goes on after the longer side of that grid. Each frame of a video is
// such a picture.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "media/vision_item.h"

namespace deltaserve {

// The placeholders of one frame: height * width of them, row by row.
struct VisionRun {
  int64_t begin = 0;  // index in the prompt
  int32_t height = 0;
  int32_t width = 0;
  int32_t item = 0;       // of the request
  int64_t first_row = 0;  // of the item's embeddings
  int32_t position = 0;   // M-RoPE position of its first token

  int64_t count() const { return int64_t{height} * width; }
  int64_t end() const { return begin + count(); }
};

struct PlaceholderIds {
  int32_t image = -1;  // -1: the model sees no pictures
  int32_t video = -1;
};

class PromptLayout {
 public:
  PromptLayout() = default;  // text only

  // Errors: placeholders that the items do not fill one after the other, or items left over.
  static Result<PromptLayout> make(std::span<const int32_t> token_ids,
                                   std::span<const std::shared_ptr<const VisionItem>> items,
                                   const PlaceholderIds& ids);

  std::span<const VisionRun> runs() const { return runs_; }
  // The first token behind all pictures; 0: there are none.
  int64_t vision_end() const { return runs_.empty() ? 0 : runs_.back().end(); }
  // Coordinates (T, H, W) of token i, which may lie behind the prompt.
  std::array<int32_t, 3> position(int64_t i) const;

 private:
  std::vector<VisionRun> runs_;  // ascending
};

}  // namespace deltaserve
