// Errors that a user can cause, as values. `Error` maps one to one to the OpenAI error body, so a
// failure found deep in a parser reaches the client with its field name intact. Broken invariants
// are exceptions instead (base/check.h).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace deltaserve {

enum class ErrorCode : uint8_t {
  kInvalidArgument,       // 400
  kUnauthorized,          // 401
  kNotFound,              // 404
  kMethodNotAllowed,      // 405
  kPayloadTooLarge,       // 413
  kUnsupportedMediaType,  // 415
  kTooManyRequests,       // 429, sent with Retry-After
  kAborted,               // 499: the client went away
  kInternal,              // 500
  kUnavailable,           // 503: loading or draining
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;   // one line that says what to do
  std::string param;     // the offending field or tensor, "" if none
  std::string api_code;  // OpenAI's `error.code`, e.g. "context_length_exceeded"; "" for null
};

template <typename T>
using Result = std::expected<T, Error>;

// The error branch of a Result: `return fail(ErrorCode::kNotFound, "...")`.
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string param = {},
                                   std::string api_code = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(param), std::move(api_code)});
}

inline std::unexpected<Error> invalid(std::string message, std::string param = {}) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(param));
}

// The HTTP status that a code is answered with.
int http_status(ErrorCode code);

}  // namespace deltaserve
