// The value of --limit-mm-per-prompt.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace deltaserve {

struct MediaLimit {
  int32_t images = 100;
  int32_t videos = 4;
};

// {"image": N, "video": N} or image=N,video=N, both optional. Errors: kInvalidArgument.
Result<MediaLimit> parse_media_limit(const std::string& text);

}  // namespace deltaserve
