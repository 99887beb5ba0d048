// Typed reads with ranges; the accessors of json/fields.h do the type checks.
#include "model/config_reader.h"

#include <fmt/format.h>

#include <cmath>

#include "json/fields.h"

namespace deltaserve {

void ConfigReader::refuse(std::string_view key, std::string_view what) {
  if (error_) {
    return;
  }
  std::string name = json::field_name(path_, key);
  error_ = Error{.code = ErrorCode::kInvalidArgument,
                 .message = fmt::format("{}: {} {}", file_name_, name, what),
                 .param = name,
                 .api_code = {}};
}

void ConfigReader::adopt(const ConfigReader& nested) {
  if (!error_ && nested.error_) {
    error_ = nested.error_;
  }
}

bool ConfigReader::has(std::string_view key) const {
  return json::find_field(object_, key) != nullptr;
}

int64_t ConfigReader::integer(std::string_view key, int64_t min, int64_t max,
                              std::optional<int64_t> fallback) {
  const Result<std::optional<int64_t>> value = json::integer_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be an integer");
  } else if (!*value) {
    if (!fallback) {
      refuse(key, "is missing");
    }
    return fallback.value_or(min);
  } else if (**value < min || **value > max) {
    refuse(key, fmt::format("is {}, outside {} to {}", **value, min, max));
  } else {
    return **value;
  }
  return min;
}

int32_t ConfigReader::integer32(std::string_view key, int32_t min, int32_t max,
                                std::optional<int32_t> fallback) {
  return static_cast<int32_t>(integer(key, min, max, fallback));
}

std::optional<double> ConfigReader::optional_number(std::string_view key, double min, double max) {
  const Result<std::optional<double>> value = json::number_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be a number");
  } else if (*value) {
    if (std::isfinite(**value) && **value >= min && **value <= max) {
      return **value;
    }
    refuse(key, fmt::format("is {}, outside {} to {}", **value, min, max));
  }
  return std::nullopt;
}

double ConfigReader::number(std::string_view key, double min, double max,
                            std::optional<double> fallback) {
  const std::optional<double> value = optional_number(key, min, max);
  if (!value && !fallback) {
    refuse(key, "is missing");
  }
  return value ? *value : fallback.value_or(min);
}

bool ConfigReader::boolean(std::string_view key, bool fallback) {
  const Result<std::optional<bool>> value = json::bool_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be true or false");
    return fallback;
  }
  return value->value_or(fallback);
}

std::string ConfigReader::string(std::string_view key, std::string_view fallback) {
  const Result<std::optional<std::string_view>> value = json::string_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be a string");
    return std::string(fallback);
  }
  return std::string(value->value_or(fallback));
}

std::vector<int32_t> ConfigReader::token_ids(std::string_view key) {
  const json::Value* value = json::find_field(object_, key);
  std::vector<int32_t> ids;
  if (value == nullptr) {
    return ids;
  }
  const json::Array single = {*value};
  const json::Array& list = value->is_array() ? value->get_array() : single;
  for (const json::Value& item : list) {
    const int64_t* id = item.if_int64();
    if (id == nullptr || *id < 0 || *id > INT32_MAX) {
      refuse(key, "must be a token id or a list of token ids");
      return {};
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

const json::Array* ConfigReader::array(std::string_view key) {
  const Result<const json::Array*> value = json::array_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be a list");
    return nullptr;
  }
  return *value;
}

const json::Object* ConfigReader::object(std::string_view key) {
  const Result<const json::Object*> value = json::object_field(object_, key, path_);
  if (!value) {
    refuse(key, "must be an object");
    return nullptr;
  }
  return *value;
}

}  // namespace deltaserve
