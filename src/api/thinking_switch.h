// The several ways in which clients turn thinking on and off, resolved into template variables.
#pragma once

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve {

// Sets `enable_thinking` in `variables` (which already hold chat_template_kwargs) if the request
// says anything about it. The first that is present wins: chat_template_kwargs.enable_thinking,
// chat_template_kwargs.thinking, enable_thinking, thinking.type ("enabled", "disabled"),
// reasoning_effort "none". Other efforts leave the template's default.
void read_thinking_switch(FieldReader& fields, json::Object& variables);

}  // namespace deltaserve
