// Reads typed values in a range from one object of config.json or a file like it. The first error
// is kept and every later read returns a harmless value, so that parsing code is one line a key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

class ConfigReader {
 public:
  // `path` ("text_config", "" for the outermost object) is put before key names in errors.
  ConfigReader(const json::Object& object, std::string path,
               std::string_view file_name = "config.json")
      : object_(object), path_(std::move(path)), file_name_(file_name) {}

  // Absent and null are the same. Without a fallback an absent key is an error.
  int64_t integer(std::string_view key, int64_t min, int64_t max,
                  std::optional<int64_t> fallback = std::nullopt);
  int32_t integer32(std::string_view key, int32_t min, int32_t max,
                    std::optional<int32_t> fallback = std::nullopt);
  double number(std::string_view key, double min, double max,
                std::optional<double> fallback = std::nullopt);
  std::optional<double> optional_number(std::string_view key, double min, double max);
  bool boolean(std::string_view key, bool fallback);
  std::string string(std::string_view key, std::string_view fallback);
  // A non-negative integer or a list of them; empty if absent.
  std::vector<int32_t> token_ids(std::string_view key);
  const json::Array* array(std::string_view key);    // nullptr if absent
  const json::Object* object(std::string_view key);  // nullptr if absent
  bool has(std::string_view key) const;              // present and not null

  // Keeps an error about `key`: "<file>: <path>.<key> <what>".
  void refuse(std::string_view key, std::string_view what);
  // Keeps the error of a nested reader.
  void adopt(const ConfigReader& nested);

  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  const json::Object& object_;
  std::string path_;
  std::string_view file_name_;
  std::optional<Error> error_;
};

}  // namespace deltaserve
