// One pass over the messages, with the ids of the calls seen so far.
#include "api/tool_result_ids.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

#include "json/fields.h"

namespace deltaserve {
namespace {

using Ids = std::unordered_set<std::string_view>;

// The string under `key`, "" if there is none.
std::string_view string_in(const json::Object& object, std::string_view key) {
  const json::Value* value = json::find_field(object, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : "";
}

void add_call_ids(const json::Object& message, Ids& ids) {
  const json::Value* calls = json::find_field(message, "tool_calls");
  if (calls == nullptr || !calls->is_array()) {
    return;
  }
  for (const json::Value& call : calls->get_array()) {
    if (call.is_object()) {
      ids.insert(string_in(call.get_object(), "id"));
    }
  }
}

}  // namespace

std::optional<Error> find_orphan_result(const json::Array& messages) {
  Ids ids;
  for (size_t i = 0; i < messages.size(); ++i) {
    const json::Object& message = messages[i].get_object();
    if (string_in(message, "role") != "tool") {
      add_call_ids(message, ids);
      continue;
    }
    const std::string_view id = string_in(message, "tool_call_id");
    if (!id.empty() && ids.contains(id)) {
      continue;
    }
    std::string param = fmt::format("messages[{}].tool_call_id", i);
    std::string text =
        id.empty()
            ? fmt::format("'{}' is missing.", param)
            : fmt::format("'{}' is '{}', which is the id of no earlier tool call.", param, id);
    return Error{ErrorCode::kInvalidArgument, std::move(text), std::move(param), ""};
  }
  return std::nullopt;
}

}  // namespace deltaserve
