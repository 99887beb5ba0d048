// Linear search: there are about a dozen routes.
#include "server/router.h"

#include <fmt/format.h>

#include <algorithm>

namespace deltaserve {
namespace {

bool path_matches(const Route& route, std::string_view path) {
  if (route.path.size() > 1 && route.path.ends_with('/')) {
    return path.size() > route.path.size() && path.starts_with(route.path);
  }
  return path == route.path;
}

}  // namespace

const Route* Router::find(std::string_view method, std::string_view path, Error& error,
                          std::string& allow) const {
  for (const Route& route : routes_) {
    if (!path_matches(route, path)) {
      continue;
    }
    if (route.method == method || (route.method == "GET" && method == "HEAD")) {
      return &route;
    }
    allow += allow.empty() ? "" : ", ";
    allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  if (allow.empty()) {
    error = Error{ErrorCode::kNotFound, fmt::format("There is no '{} {}' here.", method, path), "",
                  "not_found"};
  } else {
    allow += ", OPTIONS";
    error = Error{ErrorCode::kMethodNotAllowed,
                  fmt::format("'{}' does not answer {}: use {}.", path, method, allow), "",
                  "method_not_allowed"};
  }
  return nullptr;
}

ErrorWriter Router::error_writer(std::string_view path) const {
  const auto at_path = [path](const Route& route) { return path_matches(route, path); };
  const auto route = std::ranges::find_if(routes_, at_path);
  return route != routes_.end() ? route->write_error : nullptr;
}

}  // namespace deltaserve
