// The vision tower as the engine drives it. An interface, so that scheduling is tested without one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "media/vision_item.h"
#include "model/vision_tower.h"

namespace deltaserve {

class VisionEncoder {
 public:
  virtual ~VisionEncoder() = default;

  // Pages of kVisionPageRows embeddings that there are: ids are [0, num_pages).
  virtual int64_t num_pages() const = 0;
  // Thread-safe. Errors: an item that the tower cannot take.
  virtual Result<void> check(const VisionItem& item) const = 0;

  // See VisionTower. `advance` counts in prompt tokens that take as long.
  virtual void begin(std::vector<VisionJob> jobs) = 0;
  virtual bool busy() const = 0;
  virtual int64_t advance(int64_t num_tokens) = 0;
};

}  // namespace deltaserve
