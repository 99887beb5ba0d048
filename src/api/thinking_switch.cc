// Resolves the thinking switches in the order that the header gives.
#include "api/thinking_switch.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace deltaserve {
namespace {

std::optional<bool> thinking_object(FieldReader& fields) {
  const json::Value* thinking = fields.value("thinking");
  if (thinking == nullptr) {
    return std::nullopt;
  }
  if (thinking->is_bool()) {
    return thinking->get_bool();
  }
  const json::Object* object = fields.object("thinking");
  if (object == nullptr) {
    return std::nullopt;
  }
  FieldReader nested(*object, "thinking");
  const std::optional<std::string> type = nested.string("type");
  if (!nested.ok()) {
    fields.fail(nested.error());
    return std::nullopt;
  }
  if (type == "disabled") {
    return false;
  }
  if (type == "enabled") {
    return true;
  }
  if (type && *type != "auto" && *type != "adaptive") {
    fields.fail(Error{ErrorCode::kInvalidArgument,
                      fmt::format("'thinking.type' must be 'enabled', 'disabled', 'auto' or "
                                  "'adaptive', got '{}'.",
                                  *type),
                      "thinking.type", ""});
  }
  return std::nullopt;
}

}  // namespace

void read_thinking_switch(FieldReader& fields, json::Object& variables) {
  const std::optional<bool> top_level = fields.optional_boolean("enable_thinking");
  const std::optional<bool> typed = thinking_object(fields);
  const std::optional<std::string> effort = fields.string("reasoning_effort");
  if (variables.contains("enable_thinking")) {
    return;
  }
  if (const json::Value* kwarg = variables.if_contains("thinking");
      kwarg != nullptr && kwarg->is_bool()) {
    variables["enable_thinking"] = kwarg->get_bool();
  } else if (top_level) {
    variables["enable_thinking"] = *top_level;
  } else if (typed) {
    variables["enable_thinking"] = *typed;
  } else if (effort == "none") {
    variables["enable_thinking"] = false;
  }
}

}  // namespace deltaserve
