// Resolves the thinking switches in the order that the header gives.
#include "api/thinking_switch.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace deltaserve {
namespace {

constexpr int64_t kMaxBudget = std::numeric_limits<int64_t>::max();

struct Effort {
  std::string_view name;     // OpenAI's, and those that agents add
  std::string_view nearest;  // of low, medium and xhigh
};

constexpr Effort kEfforts[] = {
    {"none", ""},      {"minimal", "low"}, {"low", "low"},   {"medium", "medium"},
    {"high", "xhigh"}, {"xhigh", "xhigh"}, {"max", "xhigh"},
};

const Effort* find_effort(std::string_view name) {
  const auto* found = std::ranges::find(kEfforts, name, &Effort::name);
  return found == std::end(kEfforts) ? nullptr : found;
}

// The `thinking` field: Anthropic's and GLM's object, or a boolean.
void read_thinking(FieldReader& fields, ThinkingFields& out, std::optional<int64_t>& budget) {
  const json::Value* thinking = fields.value("thinking");
  if (thinking == nullptr) {
    return;
  }
  if (thinking->is_bool()) {
    out.enabled = thinking->get_bool();
    return;
  }
  const json::Object* object = fields.object("thinking");
  if (object == nullptr) {
    return;
  }
  FieldReader nested(*object, "thinking");
  const std::optional<std::string> type = nested.string("type");
  budget = nested.integer("budget_tokens", -1, kMaxBudget);
  if (type == "disabled" || type == "enabled") {
    out.enabled = type == "enabled";
  } else if (type && *type != "auto" && *type != "adaptive") {
    nested.refuse("type", fmt::format("'thinking.type' must be 'enabled', 'disabled', 'auto' or "
                                      "'adaptive', got '{}'.",
                                      *type));
  }
  if (!nested.ok()) {
    fields.fail(nested.error());
  }
}

std::optional<std::string> read_effort(FieldReader& fields) {
  std::optional<std::string> effort = fields.string("reasoning_effort");
  if (effort && find_effort(*effort) == nullptr) {
    fields.refuse("reasoning_effort",
                  fmt::format("'reasoning_effort' must be 'none', 'minimal', 'low', 'medium', "
                              "'high', 'xhigh' or 'max', got '{}'.",
                              *effort));
  }
  return effort;
}

std::optional<bool> boolean_in(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() ? std::optional(value->get_bool()) : std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

}  // namespace

Result<void> normalize_switches(json::Object& variables, std::string_view path) {
  for (const std::string_view key : {"enable_thinking", "thinking", "preserve_thinking"}) {
    json::Value* const value = variables.if_contains(key);
    if (value == nullptr || value->is_bool()) {
      continue;
    }
    if (value->is_null()) {
      variables.erase(key);
      continue;
    }
    const std::string word = value->is_string() ? lower_case(value->get_string()) : "";
    if (word != "true" && word != "false") {
      return invalid(
          fmt::format("'{}.{}' must be true or false, got {}.", path, key, json::serialize(*value)),
          fmt::format("{}.{}", path, key));
    }
    *value = word == "true";
  }
  return {};
}

ThinkingFields read_thinking_fields(FieldReader& fields) {
  ThinkingFields out;
  std::optional<int64_t> nested_budget;
  read_thinking(fields, out, nested_budget);
  if (const auto enabled = fields.optional_boolean("enable_thinking")) {
    out.enabled = enabled;
  }
  out.effort = read_effort(fields);
  const auto budget = fields.integer("thinking_token_budget", -1, kMaxBudget);
  const auto alias = fields.integer("thinking_budget", -1, kMaxBudget);
  out.budget = budget ? budget : alias ? alias : nested_budget;
  if (out.budget == -1) {
    out.budget.reset();
  }
  return out;
}

void set_thinking_variables(const ThinkingFields& fields, const json::Object& kwargs,
                            std::string_view template_source, json::Object& variables) {
  if (fields.effort && *fields.effort != "none" && !kwargs.contains("reasoning_effort")) {
    const bool own_efforts = template_source.find("xhigh") != std::string_view::npos;
    variables["reasoning_effort"] =
        own_efforts ? find_effort(*fields.effort)->nearest : std::string_view(*fields.effort);
  }
  if (kwargs.contains("enable_thinking")) {
    return;
  }
  std::optional<bool> enabled = boolean_in(kwargs, "thinking");
  if (!enabled) {
    enabled = fields.enabled;
  }
  if (!enabled && fields.effort) {
    enabled = *fields.effort != "none";
  }
  if (!enabled && !variables.contains("enable_thinking")) {
    enabled = boolean_in(variables, "thinking");
  }
  if (enabled) {
    variables["enable_thinking"] = *enabled;
  }
}

}  // namespace deltaserve
