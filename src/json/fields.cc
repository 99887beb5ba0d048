// Typed access to request fields: each accessor checks the kind of the value and words the error.
#include "json/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace deltaserve::json {
namespace {

std::unexpected<Error> wrong_type(std::string_view path, std::string_view key,
                                  std::string_view expected, const Value& value) {
  std::string name = field_name(path, key);
  std::string message =
      fmt::format("Invalid type for '{}': expected {}, got {}.", name, expected, kind_name(value));
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(name), "invalid_type");
}

}  // namespace

std::string field_name(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return "null";
    case boost::json::kind::bool_:
      return "a boolean";
    case boost::json::kind::int64:
    case boost::json::kind::uint64:
      return "an integer";
    case boost::json::kind::double_:
      return "a decimal number";
    case boost::json::kind::string:
      return "a string";
    case boost::json::kind::array:
      return "an array";
    case boost::json::kind::object:
      return "an object";
  }
  return "an unknown kind";
}

const Value* find_field(const Object& object, std::string_view key) {
  const Value* value = object.if_contains(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

Result<std::optional<double>> number_field(const Object& object, std::string_view key,
                                           std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  switch (value->kind()) {
    case boost::json::kind::int64:
      return static_cast<double>(value->get_int64());
    case boost::json::kind::uint64:
      return static_cast<double>(value->get_uint64());
    case boost::json::kind::double_:
      return value->get_double();
    default:
      return wrong_type(path, key, "a number", *value);
  }
}

Result<std::optional<int64_t>> integer_field(const Object& object, std::string_view key,
                                             std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_int64()) {
    return value->get_int64();
  }
  if (value->is_double()) {
    const double number = value->get_double();
    // 2^63: the first double beyond int64_t.
    if (std::trunc(number) == number && std::fabs(number) < 9223372036854775808.0) {
      return static_cast<int64_t>(number);
    }
    return wrong_type(path, key, "an integer", *value);
  }
  if (value->is_uint64()) {
    std::string name = field_name(path, key);
    return invalid(fmt::format("'{}' does not fit 64 bits: {}.", name, value->get_uint64()), name);
  }
  return wrong_type(path, key, "an integer", *value);
}

Result<std::optional<bool>> bool_field(const Object& object, std::string_view key,
                                       std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_bool()) {
    return wrong_type(path, key, "a boolean", *value);
  }
  return value->get_bool();
}

Result<std::optional<std::string_view>> string_field(const Object& object, std::string_view key,
                                                     std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    return wrong_type(path, key, "a string", *value);
  }
  return std::string_view(value->get_string());
}

Result<const Array*> array_field(const Object& object, std::string_view key,
                                 std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return nullptr;
  }
  if (!value->is_array()) {
    return wrong_type(path, key, "an array", *value);
  }
  return &value->get_array();
}

Result<const Object*> object_field(const Object& object, std::string_view key,
                                   std::string_view path) {
  const Value* value = find_field(object, key);
  if (value == nullptr) {
    return nullptr;
  }
  if (!value->is_object()) {
    return wrong_type(path, key, "an object", *value);
  }
  return &value->get_object();
}

}  // namespace deltaserve::json
