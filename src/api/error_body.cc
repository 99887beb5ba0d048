// Writes the OpenAI error object; empty `param` and `code` become null.
#include "api/error_body.h"

#include "json/json.h"

namespace deltaserve {

std::string error_type(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kMethodNotAllowed:
    case ErrorCode::kPayloadTooLarge:
    case ErrorCode::kUnsupportedMediaType:
      return "invalid_request_error";
    case ErrorCode::kUnauthorized:
      return "authentication_error";
    case ErrorCode::kTooManyRequests:
      return "rate_limit_error";
    case ErrorCode::kUnavailable:
      return "service_unavailable_error";
    case ErrorCode::kAborted:
    case ErrorCode::kInternal:
      return "server_error";
  }
  return "server_error";
}

std::string error_body(const Error& error) {
  std::string out = "{\"error\":{\"message\":";
  json::append_quoted(error.message, out);
  out += ",\"type\":";
  json::append_quoted(error_type(error.code), out);
  out += ",\"param\":";
  if (error.param.empty()) {
    out += "null";
  } else {
    json::append_quoted(error.param, out);
  }
  out += ",\"code\":";
  if (error.api_code.empty()) {
    out += "null";
  } else {
    json::append_quoted(error.api_code, out);
  }
  out += "}}";
  return out;
}

}  // namespace deltaserve
