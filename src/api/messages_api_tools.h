// `tools` and `tool_choice` of an Anthropic request as those of a chat request.
#pragma once

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve::messages_api {

// Sets `tools`, `tool_choice` and `parallel_tool_calls` of `chat` where the request has them. Tools
// that run on Anthropic's own servers, or that a model must have been trained for, are refused by
// type; keys that are not part of a declaration (cache_control, ...) are dropped. Errors stay in
// `fields`.
void read_tools(FieldReader& fields, json::Object& chat);

}  // namespace deltaserve::messages_api
