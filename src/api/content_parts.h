// `content` of a message: a string, or an array of parts of which some may be images and videos.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

enum class MediaKind : uint8_t { kImage, kVideo };

std::string_view name_of(MediaKind kind);  // "image", "video"

// An image or a video of the conversation, not yet looked at. The views are into the request.
struct MediaPart {
  std::string path;  // "messages[0].content[1]"
  MediaKind kind = MediaKind::kImage;
  std::vector<std::string_view> urls;  // one; of a video also its frames, each an image
  bool is_frames = false;              // of a video: `urls` are its frames, even if there is one
  std::optional<double> fps;           // of a video: see VideoSource
};

// What a chat template gets for `content`: a string if it is text alone (parts follow each other
// without a separator, as the family's templates do), else an array of {"type": "text", "text":
// ...}, {"type": "image"} and {"type": "video"}; none if it is null or missing. Images and videos
// are appended to `media`; where that is null they are refused. `content` must outlive `media`.
// Errors: kInvalidArgument naming the part.
Result<std::optional<json::Value>> read_content(const json::Value* content, const std::string& path,
                                                std::vector<MediaPart>* media);

}  // namespace deltaserve
