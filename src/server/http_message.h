// A request as handlers see it and a response as they give it; bytes and framing are elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "server/byte_budget.h"

namespace deltaserve {

struct HttpRequest {
  std::string method;
  std::string path;  // percent-decoded, without query and without a slash at the end
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  ByteBudget::Share body_share;  // of the memory for bodies
  bool http11 = true;            // else 1.0: no chunked answers
  bool keep_alive = true;

  // The first header of that (lower-case) name, "" if there is none.
  std::string_view header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string error_message;  // what the log says of an error
};

// Writes the JSON body of an error; protocols differ in it.
using ErrorWriter = std::string (*)(const Error& error, std::string_view request_id);

HttpResponse json_response(std::string body);

// The error under the status of its code, with Retry-After and WWW-Authenticate where the status
// asks for them; OpenAI's body unless another writer is given.
HttpResponse error_response(const Error& error, ErrorWriter writer = nullptr,
                            std::string_view request_id = {});

// The path of a request target: origin or absolute form, without query, percent-decoded.
std::string path_of_target(std::string_view target);

}  // namespace deltaserve
