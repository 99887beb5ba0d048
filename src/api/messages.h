// Brings the messages of a chat request into the one form that templates are given, whatever the
// client's habits: role, content as a string, tool_calls with parsed arguments, reasoning_content.
#pragma once

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// Every message is checked; errors name it ("messages[2].content"). developer becomes system;
// system messages at the beginning become one, joined by a blank line; later ones stay where they
// are.
Result<json::Array> normalize_messages(const json::Array& messages);

// Whether a system message stands anywhere but first.
bool has_later_system(const json::Array& normalized);

// The same messages with all system texts in one first message, in their order: for templates that
// refuse a later system message.
json::Array merge_all_system(const json::Array& normalized);

}  // namespace deltaserve
