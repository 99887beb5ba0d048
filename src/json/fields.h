// Typed access to the fields of a request object. Every accessor treats null as absent and answers
// a wrong type with kInvalidArgument whose `param` names the field, so that request validation is
// one line a field. `path` is put before the name in `param` ("messages[0]", "stream_options").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::json {

// The value, or nullptr if the key is absent or null.
const Value* find_field(const Object& object, std::string_view key);

// Integers and floats alike.
Result<std::optional<double>> number_field(const Object& object, std::string_view key,
                                           std::string_view path = {});

// An integer of 64 bits, or a float without a fraction such as 3.0.
Result<std::optional<int64_t>> integer_field(const Object& object, std::string_view key,
                                             std::string_view path = {});

Result<std::optional<bool>> bool_field(const Object& object, std::string_view key,
                                       std::string_view path = {});

// A view into `object`.
Result<std::optional<std::string_view>> string_field(const Object& object, std::string_view key,
                                                     std::string_view path = {});

// Pointers into `object`; nullptr if absent.
Result<const Array*> array_field(const Object& object, std::string_view key,
                                 std::string_view path = {});
Result<const Object*> object_field(const Object& object, std::string_view key,
                                   std::string_view path = {});

// "path.key", or "key" without a path: what `param` says.
std::string field_name(std::string_view path, std::string_view key);

// "an integer", "a string", ...: what a value is, for messages.
std::string_view kind_name(const Value& value);

}  // namespace deltaserve::json
