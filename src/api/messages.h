// Brings the messages of a chat request into the one form that templates are given, whatever the
// client's habits: role, content as read_content gives it, tool_calls with parsed arguments,
// reasoning_content.
#pragma once

#include <vector>

#include "api/content_parts.h"
#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

struct NormalizedMessages {
  json::Array messages;
  std::vector<MediaPart> media;  // of user and tool messages, in their order
};

// Every message is checked; errors name it ("messages[2].content"). developer becomes system;
// system messages at the beginning become one, joined by a blank line; later ones stay where they
// are. `messages` must outlive the result.
Result<NormalizedMessages> normalize_messages(const json::Array& messages);

// Whether a system message stands anywhere but first.
bool has_later_system(const json::Array& normalized);

// The same messages with all system texts in one first message, in their order: for templates that
// refuse a later system message.
json::Array merge_all_system(const json::Array& normalized);

}  // namespace deltaserve
