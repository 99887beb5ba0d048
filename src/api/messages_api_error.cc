// Writes the error object.
#include "api/messages_api_error.h"

#include "json/json.h"

namespace deltaserve::messages_api {

std::string_view error_type(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kMethodNotAllowed:
    case ErrorCode::kUnsupportedMediaType:
      return "invalid_request_error";
    case ErrorCode::kUnauthorized:
      return "authentication_error";
    case ErrorCode::kNotFound:
      return "not_found_error";
    case ErrorCode::kPayloadTooLarge:
      return "request_too_large";
    case ErrorCode::kTooManyRequests:
      return "rate_limit_error";
    case ErrorCode::kUnavailable:
      return "overloaded_error";
    case ErrorCode::kAborted:
    case ErrorCode::kInternal:
      return "api_error";
  }
  return "api_error";
}

std::string error_body(const Error& error, std::string_view request_id) {
  std::string out = R"({"type":"error","error":{"type":")";
  out += error_type(error.code);
  out += R"(","message":)";
  json::append_quoted(error.message, out);
  out += "},\"request_id\":";
  json::append_quoted(request_id, out);
  out += "}";
  return out;
}

}  // namespace deltaserve::messages_api
