// FieldReader: json/fields.h with ranges and a memory of the first error.
#include "api/field_reader.h"

#include <fmt/format.h>

#include "json/fields.h"

namespace deltaserve {

template <typename T>
T FieldReader::keep(Result<T> result) {
  if (!result) {
    fail(std::move(result.error()));
    return T{};
  }
  return *std::move(result);
}

std::optional<double> FieldReader::number(std::string_view key, double low, double high) {
  auto value = keep(json::number_field(*object_, key, path_));
  if (value && !(*value >= low && *value <= high)) {
    refuse(key,
           fmt::format("'{}' must be between {} and {}, got {}.", name(key), low, high, *value));
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> FieldReader::integer(std::string_view key, int64_t low, int64_t high) {
  auto value = keep(json::integer_field(*object_, key, path_));
  if (!value || (*value >= low && *value <= high)) {
    return value;
  }
  if (*value < low) {
    refuse(key, fmt::format("'{}' must be at least {}, got {}.", name(key), low, *value));
  } else {
    refuse(key, fmt::format("'{}' must be at most {}, got {}.", name(key), high, *value));
  }
  return std::nullopt;
}

bool FieldReader::boolean(std::string_view key, bool fallback) {
  return optional_boolean(key).value_or(fallback);
}

std::optional<bool> FieldReader::optional_boolean(std::string_view key) {
  return keep(json::bool_field(*object_, key, path_));
}

std::optional<std::string> FieldReader::string(std::string_view key) {
  auto value = keep(json::string_field(*object_, key, path_));
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

Result<std::string> FieldReader::required_string(std::string_view key) {
  std::optional<std::string> value = string(key);
  if (!value) {
    refuse(key, fmt::format("'{}' is missing.", name(key)));
  }
  if (!ok()) {
    return std::unexpected(error());
  }
  return *std::move(value);
}

const json::Array* FieldReader::array(std::string_view key) {
  return keep(json::array_field(*object_, key, path_));
}

const json::Object* FieldReader::object(std::string_view key) {
  return keep(json::object_field(*object_, key, path_));
}

const json::Value* FieldReader::value(std::string_view key) const {
  return json::find_field(*object_, key);
}

std::string FieldReader::name(std::string_view key) const {
  return json::field_name(path_, key);
}

void FieldReader::fail(Error error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

void FieldReader::refuse(std::string_view key, std::string message) {
  fail(Error{ErrorCode::kInvalidArgument, std::move(message), name(key), ""});
}

}  // namespace deltaserve
