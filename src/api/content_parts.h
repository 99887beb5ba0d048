// `content` of a message: a string, or an array of parts of which some may be images.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// An image of the conversation, not yet looked at. The view is into the request.
struct ImagePart {
  std::string path;  // "messages[0].content[1]"
  std::string_view url;
};

// What a chat template gets for `content`: a string if it is text alone (parts follow each other
// without a separator, as the family's templates do), else an array of {"type": "text", "text":
// ...} and {"type": "image"}; none if it is null or missing. Images are appended to `images`; where
// that is null they are refused. `content` must outlive `images`. Errors: kInvalidArgument naming
// the part.
Result<std::optional<json::Value>> read_content(const json::Value* content, const std::string& path,
                                                std::vector<ImagePart>* images);

}  // namespace deltaserve
