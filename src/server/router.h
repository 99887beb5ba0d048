// Which handler serves a method and path. A handler runs at once on the io thread if it is quick,
// on a worker if it parses or tokenises, and a generation goes on to the engine.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_service.h"
#include "server/http_message.h"

namespace deltaserve {

using Handler = std::function<Result<HttpResponse>(const HttpRequest&)>;
using GenerationHandler = std::function<Result<ApiService::Prepared>(const HttpRequest&)>;

struct Route {
  std::string method;  // GET also answers HEAD
  std::string path;    // one that ends in "/" serves everything below it
  Handler handler;
  GenerationHandler generation;       // instead of handler
  ErrorWriter write_error = nullptr;  // null: OpenAI's form; the same for all methods of a path
  bool on_worker = false;
  bool open = false;  // needs no API key
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  // Null if there is none: `error` is then kNotFound, or kMethodNotAllowed with `allow` set to the
  // methods that the path has.
  const Route* find(std::string_view method, std::string_view path, Error& error,
                    std::string& allow) const;

  // How errors look at that path, whatever the method; null where there is no route.
  ErrorWriter error_writer(std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace deltaserve
