// Tools and tool choice of a /v1/responses request, whose functions are flat, in the form that chat
// requests nest them.
#pragma once

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::responses_api {

// Errors: kInvalidArgument naming tools that OpenAI runs by itself ("tools[0].type"). Names and
// parameters are left for the chat request to check.
Result<json::Array> chat_tools(const json::Array& tools);

// Strings stay as they are.
Result<json::Value> chat_tool_choice(const json::Value& choice);

}  // namespace deltaserve::responses_api
