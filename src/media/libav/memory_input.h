// A file in memory as libav reads files. It is all that a container can reach: see video_container.
#pragma once

#include <cstddef>
#include <cstdint>

#include "media/rgb_image.h"

struct AVIOContext;

namespace deltaserve {

class MemoryInput {
 public:
  explicit MemoryInput(Bytes file);  // the bytes must outlive this
  ~MemoryInput();
  MemoryInput(const MemoryInput&) = delete;
  MemoryInput& operator=(const MemoryInput&) = delete;

  AVIOContext* context() const { return context_; }

 private:
  static int read(void* self, uint8_t* to, int size);
  static int64_t seek(void* self, int64_t offset, int whence);

  Bytes file_;
  int64_t position_ = 0;
  AVIOContext* context_ = nullptr;
};

}  // namespace deltaserve
