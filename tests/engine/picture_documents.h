// Conversations with pictures for tests of the engine: what they are made of, and their positions
// by the rule of transformers' get_rope_index, told apart from PromptLayout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "media/vision_item.h"
#include "model/config.h"
#include "unbroken.h"

namespace deltaserve {

inline constexpr int32_t kDocumentMerge = 2;

using ItemPtr = std::shared_ptr<const VisionItem>;

// A text, or the placeholders of one picture or video.
struct Segment {
  std::vector<int32_t> tokens;
  ItemPtr item;  // null: text
};
using Document = std::vector<Segment>;

// Of random pixels; `t` frames of h x w patches.
inline ItemPtr make_random_item(const VisionConfig& vision, int32_t t, int32_t h, int32_t w,
                                bool is_video, std::mt19937_64& random) {
  auto item = std::make_shared<VisionItem>();
  item->grid_t = t;
  item->grid_h = h;
  item->grid_w = w;
  item->merge_size = kDocumentMerge;
  item->is_video = is_video;
  item->frames = is_video ? vision.temporal_patch_size : 1;
  item->offset.fill(127.5F);
  item->scale.fill(127.5F);
  const int64_t samples = int64_t{3} * item->frames * vision.patch_size * vision.patch_size;
  item->patches.resize(static_cast<size_t>(item->num_patches() * samples));
  for (uint8_t& sample : item->patches) sample = static_cast<uint8_t>(random());
  item->content_hash = {random(), random()};
  return item;
}

// Positions by transformers' rule: text counts on; a frame's token in row y and column x is at
// (start, start + y, start + x), and what follows goes on behind the largest of these.
inline UnbrokenPictures positions_of(const Document& document) {
  UnbrokenPictures out;
  int32_t next = 0;
  for (const Segment& segment : document) {
    if (segment.item == nullptr) {
      for (size_t i = 0; i < segment.tokens.size(); ++i, ++next) {
        out.positions.push_back({next, next, next});
      }
      continue;
    }
    for (int32_t t = 0; t < segment.item->grid_t; ++t) {
      const int32_t start = next;
      for (int32_t y = 0; y < segment.item->grid_h / kDocumentMerge; ++y) {
        for (int32_t x = 0; x < segment.item->grid_w / kDocumentMerge; ++x) {
          out.positions.push_back({start, start + y, start + x});
          next = std::max({next, start + y + 1, start + x + 1});
        }
      }
    }
  }
  out.position_behind = next;
  return out;
}

}  // namespace deltaserve
