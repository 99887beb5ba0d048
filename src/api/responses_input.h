// The `input` of a /v1/responses request as messages of a chat request. Items that one answer is
// made of (reasoning, text, function calls) come back as the one assistant message they were.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::responses_api {

// What a reasoning item's encrypted_content begins with if this server wrote it; the text follows.
// Clients that drop the text of reasoning items but keep this field thus still send it back.
inline constexpr std::string_view kReasoningCarrier = "deltaserve:";

// `input` is a string or an array of items; `instructions` become a system message before them.
// What the server itself put into `output` is understood as it stands. Errors: kInvalidArgument
// naming the item ("input[2].content[0]"): wrong types, media, references to stored items, items
// of tools that OpenAI runs.
Result<json::Array> chat_messages(const json::Value& input,
                                  const std::optional<std::string>& instructions);

}  // namespace deltaserve::responses_api
