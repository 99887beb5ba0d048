// Writes response heads and chunks.
#include "server/response_head.h"

#include <fmt/format.h>

#include <iterator>

namespace deltaserve {
namespace {

const char* reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "";
  }
}

}  // namespace

std::string write_head(const ResponseHead& head) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\nServer: deltaserve\r\n", head.status,
                                reason_phrase(head.status));
  auto append = [&out](std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(out), "{}: {}\r\n", name, value);
  };
  if (!head.content_type.empty()) {
    append("Content-Type", head.content_type);
  }
  for (const auto& [name, value] : head.headers) {
    append(name, value);
  }
  if (head.content_length) {
    append("Content-Length", std::to_string(*head.content_length));
  }
  if (head.chunked) {
    append("Transfer-Encoding", "chunked");
  }
  append("Connection", head.keep_alive ? "keep-alive" : "close");
  out += "\r\n";
  return out;
}

void append_chunk(std::string_view data, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", data.size());
  out += data;
  out += "\r\n";
}

}  // namespace deltaserve
