// Content of Responses items.
#pragma once

#include <string>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::responses_api {

// Content of a chat message out of a string or an array of parts: a string, or with images an array
// of parts for read_content. Errors: kInvalidArgument naming the part.
Result<json::Value> read_item_content(const json::Value& value, const std::string& path,
                                      bool may_hold_images);

}  // namespace deltaserve::responses_api
