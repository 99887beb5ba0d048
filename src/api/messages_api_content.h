// The conversation of an Anthropic request (POST /v1/messages) as the messages of a chat request:
// content blocks become content, reasoning_content, tool_calls and tool messages.
#pragma once

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::messages_api {

// `system` is null if the request has none; its text blocks are joined by a blank line, as several
// system messages of a chat are. Other text blocks follow each other without a separator. Tool
// results of a user message come before its text, each as a tool message. Errors: kInvalidArgument
// naming the block ("messages[2].content[0].text"), also for blocks that cannot be shown to the
// model; nothing is left out silently but redacted_thinking.
Result<json::Array> chat_messages(const json::Value* system, const json::Array& messages);

}  // namespace deltaserve::messages_api
