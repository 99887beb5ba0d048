// libav's two callbacks over a span.
#include "media/libav/memory_input.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"

extern "C" {
#include <libavformat/avio.h>
#include <libavutil/mem.h>
}

namespace deltaserve {
namespace {

constexpr int kBufferBytes = 1 << 15;  // what libav copies at a time: its own default

}  // namespace

MemoryInput::MemoryInput(Bytes file) : file_(file) {
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBufferBytes));
  DS_CHECK(buffer != nullptr);
  context_ = avio_alloc_context(buffer, kBufferBytes, 0, this, read, nullptr, seek);
  DS_CHECK(context_ != nullptr);
}

// libav may have replaced the buffer by one of its own.
MemoryInput::~MemoryInput() {
  av_freep(&context_->buffer);
  avio_context_free(&context_);
}

int MemoryInput::read(void* self, uint8_t* to, int size) {
  auto& input = *static_cast<MemoryInput*>(self);
  const int64_t left = static_cast<int64_t>(input.file_.size()) - input.position_;
  if (left <= 0) return AVERROR_EOF;
  const auto count = static_cast<int>(std::min<int64_t>(size, left));
  std::copy_n(input.file_.begin() + input.position_, count, to);
  input.position_ += count;
  return count;
}

int64_t MemoryInput::seek(void* self, int64_t offset, int whence) {
  auto& input = *static_cast<MemoryInput*>(self);
  const auto size = static_cast<int64_t>(input.file_.size());
  int64_t base = 0;
  switch (whence & ~AVSEEK_FORCE) {
    case AVSEEK_SIZE:
      return size;
    case SEEK_SET:
      break;
    case SEEK_CUR:
      base = input.position_;
      break;
    case SEEK_END:
      base = size;
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < -base || offset > size - base) return AVERROR(EINVAL);
  input.position_ = base + offset;
  return input.position_;
}

}  // namespace deltaserve
