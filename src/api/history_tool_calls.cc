// Normalises tool calls: {id, type, function: {name, arguments: object}}.
#include "api/history_tool_calls.h"

#include <fmt/format.h>

#include "api/field_reader.h"

namespace deltaserve {
namespace {

json::Object parse_arguments(const json::Value* arguments) {
  if (arguments == nullptr) {
    return {};
  }
  if (arguments->is_object()) {
    return arguments->get_object();
  }
  if (!arguments->is_string()) {
    return json::Object{{"raw_arguments", *arguments}};
  }
  const std::string_view text(arguments->get_string());
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return {};
  }
  Result<json::Value> parsed = json::parse(text);
  if (parsed && parsed->is_object()) {
    return std::move(parsed->get_object());
  }
  return json::Object{{"raw_arguments", text}};
}

Result<json::Value> normalize_call(const json::Value& value, const std::string& path) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object.", path), path);
  }
  FieldReader call(value.get_object(), path);
  const std::optional<std::string> id = call.string("id");
  const json::Object* function = call.object("function");
  if (!call.ok()) {
    return std::unexpected(call.error());
  }
  if (function == nullptr) {
    return invalid(fmt::format("'{}.function' is missing.", path), path + ".function");
  }
  FieldReader fields(*function, path + ".function");
  const std::optional<std::string> name = fields.string("name");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (!name || name->empty()) {
    return invalid(fmt::format("'{}.function.name' is missing.", path), path + ".function.name");
  }
  json::Object out;
  if (id) {
    out["id"] = *id;
  }
  out["type"] = "function";
  out["function"] =
      json::Object{{"name", *name}, {"arguments", parse_arguments(fields.value("arguments"))}};
  return json::Value(std::move(out));
}

}  // namespace

Result<json::Array> normalize_tool_calls(const json::Array& calls, const std::string& path) {
  json::Array out;
  out.reserve(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    Result<json::Value> call = normalize_call(calls[i], fmt::format("{}[{}]", path, i));
    if (!call) {
      return std::unexpected(std::move(call.error()));
    }
    out.push_back(*std::move(call));
  }
  return out;
}

}  // namespace deltaserve
