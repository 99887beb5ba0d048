// Reads the fields of a request object one line each: the first wrong field is kept as the error
// and every later read returns its default, so that a parser checks once at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

class FieldReader {
 public:
  // `object` must outlive the reader; `path` is put before field names in errors.
  explicit FieldReader(const json::Object& object, std::string path = {})
      : object_(&object), path_(std::move(path)) {}

  // Each treats null as absent. Numbers outside [low, high] are an error naming both.
  std::optional<double> number(std::string_view key, double low, double high);
  std::optional<int64_t> integer(std::string_view key, int64_t low, int64_t high);
  bool boolean(std::string_view key, bool fallback);
  std::optional<bool> optional_boolean(std::string_view key);
  std::optional<std::string> string(std::string_view key);
  // That must be there. The error is also the return value.
  Result<std::string> required_string(std::string_view key);
  const json::Array* array(std::string_view key);
  const json::Object* object(std::string_view key);
  const json::Value* value(std::string_view key) const;

  std::string name(std::string_view key) const;            // as `param` says it
  void fail(Error error);                                  // kept if it is the first
  void refuse(std::string_view key, std::string message);  // kInvalidArgument on that field

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  // The value, or an absent one after keeping the error.
  template <typename T>
  T keep(Result<T> result);

  const json::Object* object_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace deltaserve
