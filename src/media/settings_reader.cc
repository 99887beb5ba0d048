// One function a kind of value.
#include "media/settings_reader.h"

#include <fmt/format.h>

#include "json/fields.h"

namespace deltaserve {

int64_t SettingsReader::integer(std::string_view key, int64_t fallback, int64_t low, int64_t high) {
  const auto value = take(json::integer_field(config_, key));
  if (value && (*value < low || *value > high)) {
    fail(fmt::format("'{}' must be {} to {}, got {}", key, low, high, *value));
  }
  return value.value_or(fallback);
}

double SettingsReader::number(std::string_view key, double fallback) {
  return take(json::number_field(config_, key)).value_or(fallback);
}

bool SettingsReader::boolean(std::string_view key, bool fallback) {
  return take(json::bool_field(config_, key)).value_or(fallback);
}

std::array<double, 3> SettingsReader::three_numbers(std::string_view key, double fallback) {
  std::array<double, 3> out{fallback, fallback, fallback};
  const Result<const json::Array*> list = json::array_field(config_, key);
  if (!list) {
    fail(list.error().message);
    return out;
  }
  if (*list == nullptr) return out;
  if ((*list)->size() != out.size()) fail(fmt::format("'{}' must have 3 numbers", key));
  for (size_t i = 0; i < out.size() && error_.empty(); ++i) {
    const json::Value& value = (**list)[i];
    if (!value.is_number()) {
      fail(fmt::format("'{}' must have 3 numbers", key));
    } else {
      out[i] = value.to_number<double>();
    }
  }
  return out;
}

const json::Object* SettingsReader::object(std::string_view key) {
  const Result<const json::Object*> value = json::object_field(config_, key);
  if (!value) fail(value.error().message);
  return value.value_or(nullptr);
}

void SettingsReader::require_true(std::string_view key) {
  if (!boolean(key, true)) fail(fmt::format("'{}' must be true", key));
}

void SettingsReader::refuse(std::string_view key) {
  const json::Value* value = config_.if_contains(key);
  if (value != nullptr && !value->is_null()) fail(fmt::format("'{}' is not supported", key));
}

}  // namespace deltaserve
