// `tools`, `tool_choice` and `response_format` of a chat request.
#pragma once

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve {

// The tools that the template is given: those of the request, or none if tool_choice is "none".
// Choices and formats that need structured output are refused with a clear message.
json::Array read_tool_fields(FieldReader& fields);

void read_response_format(FieldReader& fields);

}  // namespace deltaserve
