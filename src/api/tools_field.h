// `tools`, `tool_choice` and `response_format` of a chat request.
#pragma once

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve {

struct ToolFields {
  json::Array tools;       // checked; as the request has them
  bool forbidden = false;  // tool_choice "none": the model neither sees nor calls them
  bool parallel = true;    // more than one call in an answer
};

// Reads tools, tool_choice and parallel_tool_calls. Choices and formats that need structured output
// are refused with a clear message. Errors stay in `fields`.
ToolFields read_tool_fields(FieldReader& fields);

void read_response_format(FieldReader& fields);

}  // namespace deltaserve
