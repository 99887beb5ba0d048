// CORS headers and the preflight answer.
#include "server/cors.h"

#include <algorithm>

namespace deltaserve {
namespace {

constexpr const char* kExposed = "X-Request-Id, Request-Id, Retry-After";  // to a page's scripts

}  // namespace

std::vector<std::pair<std::string, std::string>> Cors::headers(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty()) {
    return {};
  }
  if (std::ranges::find(origins_, "*") != origins_.end()) {
    return {{"Access-Control-Allow-Origin", "*"}, {"Access-Control-Expose-Headers", kExposed}};
  }
  if (std::ranges::find(origins_, origin) != origins_.end()) {
    return {{"Access-Control-Allow-Origin", std::string(origin)},
            {"Access-Control-Expose-Headers", kExposed},
            {"Vary", "Origin"}};
  }
  return {{"Vary", "Origin"}};
}

HttpResponse Cors::preflight(const HttpRequest& request) const {
  HttpResponse response;
  response.status = 204;
  response.content_type.clear();
  response.headers.emplace_back("Allow", "GET, HEAD, POST, OPTIONS");
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
  // "*" does not cover Authorization, so the wanted names are given back.
  std::string allowed = "Authorization, Content-Type";
  if (const std::string_view wanted = request.header("access-control-request-headers");
      !wanted.empty()) {
    allowed += ", ";
    allowed += wanted;
  }
  response.headers.emplace_back("Access-Control-Allow-Headers", std::move(allowed));
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

}  // namespace deltaserve
