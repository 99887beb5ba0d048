// A request as handlers see it and a response as they give it; bytes and framing are elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace deltaserve {

struct HttpRequest {
  std::string method;
  std::string path;  // percent-decoded, without query and without a slash at the end
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool http11 = true;  // else 1.0: no chunked answers
  bool keep_alive = true;

  // The first header of that (lower-case) name, "" if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpResponse json_response(std::string body);

// The OpenAI error body under the status of its code, with Retry-After and WWW-Authenticate where
// the status asks for them.
HttpResponse error_response(const Error& error);

// The path of a request target: origin or absolute form, without query, percent-decoded.
std::string path_of_target(std::string_view target);

}  // namespace deltaserve
