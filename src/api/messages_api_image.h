// Image blocks of an Anthropic request.
#pragma once

#include <string>

#include "api/messages_api_blocks.h"
#include "base/error.h"
#include "json/json.h"

namespace deltaserve::messages_api {

// The chat part of an image block, whose `source` is {"type": "base64", "media_type", "data"} or
// {"type": "url", "url"}. What is in the image is checked later. Errors: kInvalidArgument naming
// the block or its key.
Result<json::Object> chat_image(const ContentBlock& block, const std::string& path);

}  // namespace deltaserve::messages_api
