// The several ways in which clients turn thinking on and off, say how much of it they want, or
// limit it, resolved into template variables and a budget.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/field_reader.h"
#include "json/json.h"

namespace deltaserve {

struct ThinkingFields {
  std::optional<bool> enabled;  // enable_thinking, or else thinking.type or a boolean thinking
  std::optional<std::string> effort;  // reasoning_effort: none, minimal, low, medium, high, ...
  std::optional<int64_t> budget;      // tokens
};

// Reads enable_thinking, thinking, reasoning_effort, thinking_token_budget and its alias
// thinking_budget, of which the first that is present counts, then thinking.budget_tokens; -1 is no
// budget. Errors stay in `fields`.
ThinkingFields read_thinking_fields(FieldReader& fields);

// The boolean switches among template variables (enable_thinking, thinking, preserve_thinking): the
// strings "true" and "false", which a template would both take for true, become booleans, and null
// is absent. Errors: any other value; `param` is under `path`.
Result<void> normalize_switches(json::Object& variables, std::string_view path);

// Sets enable_thinking and reasoning_effort in `variables`, which hold the server's defaults under
// the request's own chat_template_kwargs (`kwargs`), if anything is said about them. The first that
// is present decides on thinking: kwargs.enable_thinking, kwargs.thinking, fields.enabled, the
// effort (all but "none" are on), the server's defaults. A template with efforts of its own
// (low, medium, xhigh) gets the nearest of them; others get what the request says.
void set_thinking_variables(const ThinkingFields& fields, const json::Object& kwargs,
                            std::string_view template_source, json::Object& variables);

}  // namespace deltaserve
