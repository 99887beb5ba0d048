// Tool results whose ids match no call. The family's templates do without ids, so that such a
// conversation can be served, but a client that loses ids has a fault that somebody should see.
#pragma once

#include <optional>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// The first tool message whose tool_call_id is missing, or names no call of an assistant message
// before it, as an error with `param`. `messages` have been through normalize_messages.
std::optional<Error> find_orphan_result(const json::Array& messages);

}  // namespace deltaserve
