// Pictures and videos of running and waiting requests: an ImageProcessor whose results are kept for
// the next turn of a conversation, and what others make, under one limit on the memory of all
// patches that are alive. Without it a queue of large pictures would be as large as the queue is
// long. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "media/digest.h"
#include "media/image_processor.h"

namespace deltaserve {

struct ImageMemory {
  // The largest picture of released checkpoints has 48 MiB of patches: 85 of them at once.
  size_t max_live_bytes = size_t{4} << 30;
  // Of those, kept without a request: five of the largest, or thousands of small ones.
  size_t max_cached_bytes = size_t{256} << 20;
};

class ImageStore {
 public:
  using Item = std::shared_ptr<const VisionItem>;
  using Make = std::function<Result<Item>()>;

  ImageStore(const ImageProcessor& processor, const ImageMemory& memory)
      : processor_(processor), memory_(memory) {}

  Result<ImagePlan> inspect(Bytes file) const { return processor_.inspect(file); }

  // The picture, decoded now or kept from before. Errors: those of ImageProcessor::process;
  // kUnavailable if there is no memory for it now, kInvalidArgument if there never is.
  Result<std::shared_ptr<const VisionItem>> load(Bytes file);

  // What `name` names, kept from before or made now, with so many bytes of patches. Errors: those
  // of `make`, and of memory as above.
  Result<Item> load(const Digest& name, size_t bytes, const Make& make);

  const ImageLimits& limits() const { return processor_.limits(); }
  size_t live_bytes() const { return live_bytes_->load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Digest name;
    Item item;
  };

  Item find(const Digest& name);  // null if it is not kept
  void keep(const Digest& name, const Item& item);
  void drop_kept();
  // Counts `bytes` as alive; false, and nothing changed, if that is too much.
  bool reserve(size_t bytes);

  ImageProcessor processor_;
  ImageMemory memory_;
  // Shared with the items, which may outlive the store.
  std::shared_ptr<std::atomic<size_t>> live_bytes_ = std::make_shared<std::atomic<size_t>>(0);
  std::mutex mutex_;
  std::list<Entry> kept_;  // the last used first; few enough to be searched
  size_t kept_bytes_ = 0;
};

}  // namespace deltaserve
