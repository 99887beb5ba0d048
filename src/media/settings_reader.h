// Reads one key of a processor's configuration after the other; the first error stays, so that a
// caller asks once, at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

class SettingsReader {
 public:
  explicit SettingsReader(const json::Object& config) : config_(config) {}

  // Each gives `fallback` where the key is missing or null, and fails outside [low, high].
  int64_t integer(std::string_view key, int64_t fallback, int64_t low, int64_t high);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::array<double, 3> three_numbers(std::string_view key, double fallback);
  const json::Object* object(std::string_view key);  // null where it is missing

  // A step that transformers can leave out and this code always takes.
  void require_true(std::string_view key);
  // A setting that would need another treatment.
  void refuse(std::string_view key);

  void fail(const std::string& message) {
    if (error_.empty()) error_ = message;
  }
  const std::string& error() const { return error_; }

 private:
  template <typename T>
  T take(Result<T> value) {
    if (value) return *value;
    fail(value.error().message);
    return {};
  }

  const json::Object& config_;
  std::string error_;
};

}  // namespace deltaserve
