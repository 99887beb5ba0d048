// Tool calls in the history of a conversation, as clients send them back.
#pragma once

#include <string>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// Templates walk the arguments as a mapping, while clients send them as JSON text. Text that is not
// a JSON object (a call that was cut off, say) is kept whole as {"raw_arguments": text}; "" and
// null are {}. Unknown keys such as `index` are dropped. `path` is "messages[i].tool_calls".
Result<json::Array> normalize_tool_calls(const json::Array& calls, const std::string& path);

}  // namespace deltaserve
