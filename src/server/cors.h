// Cross-origin headers, so that pages of other origins may call the API.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/http_message.h"

namespace deltaserve {

class Cors {
 public:
  // Allowed origins; "*" allows all.
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // Headers for any answer to this request; none if it has no Origin or one that is not allowed.
  std::vector<std::pair<std::string, std::string>> headers(const HttpRequest& request) const;

  // The answer to OPTIONS: 204, never behind a key, because browsers send none with a preflight.
  HttpResponse preflight(const HttpRequest& request) const;

 private:
  std::vector<std::string> origins_;
};

}  // namespace deltaserve
