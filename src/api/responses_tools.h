// Tools and tool choice of a /v1/responses request, whose functions are flat, in the form that chat
// requests nest them.
#pragma once

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::responses_api {

struct ChatTools {
  json::Array tools;
  json::Value choice;  // null if the request says nothing
};

// Either may be null. Of `allowed_tools` only those are left that may be called. Errors:
// kInvalidArgument naming tools that OpenAI runs by itself ("tools[0].type"), allowed ones that are
// not there. Names and parameters are left for the chat request to check.
Result<ChatTools> chat_tools(const json::Array* tools, const json::Value* choice);

}  // namespace deltaserve::responses_api
