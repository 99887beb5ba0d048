// `tools`, `tool_choice` and `parallel_tool_calls` of a chat request.
#pragma once

#include <string>

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve {

struct ToolFields {
  json::Array tools;       // checked; as the request has them
  bool forbidden = false;  // tool_choice "none": the model neither sees nor calls them
  bool required = false;   // tool_choice "required" or a named function
  std::string name;        // of the function that has to be called, "" for any
  bool parallel = true;    // more than one call in an answer
};

// Reads tools, tool_choice and parallel_tool_calls. Errors stay in `fields`.
ToolFields read_tool_fields(FieldReader& fields);

}  // namespace deltaserve
