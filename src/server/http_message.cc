// Small parts of HTTP messages that need no parser.
#include "server/http_message.h"

#include <charconv>
#include <cstdint>

#include "api/error_body.h"

namespace deltaserve {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

HttpResponse json_response(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

HttpResponse error_response(const Error& error, ErrorWriter writer, std::string_view request_id) {
  HttpResponse response =
      json_response(writer != nullptr ? writer(error, request_id) : error_body(error));
  response.status = http_status(error.code);
  response.error_message = error.message;
  if (error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kUnavailable) {
    response.headers.emplace_back("Retry-After", "1");
  }
  if (error.code == ErrorCode::kUnauthorized) {
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  return response;
}

std::string path_of_target(std::string_view target) {
  if (const size_t scheme = target.find("://");
      scheme != std::string_view::npos && !target.starts_with('/')) {
    const size_t slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  target = target.substr(0, target.find_first_of("?#"));
  std::string path;
  path.reserve(target.size());
  for (size_t i = 0; i < target.size(); ++i) {
    uint8_t byte = 0;
    if (target[i] == '%' && i + 2 < target.size()) {
      const char* digits = target.data() + i + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        path += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    path += target[i];
  }
  if (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

}  // namespace deltaserve
