// Endpoints: OpenAI's, vLLM's beside them, and Anthropic's Messages.
#include "server/routes.h"

#include <utility>

#include "api/messages_api_error.h"
#include "server/info_endpoints.h"

namespace deltaserve {
namespace {

Result<HttpResponse> json_result(Result<std::string> body) {
  if (!body) {
    return std::unexpected(std::move(body.error()));
  }
  return json_response(*std::move(body));
}

Route get(std::string path, Handler handler) {
  Route route;
  route.method = "GET";
  route.path = std::move(path);
  route.handler = std::move(handler);
  return route;
}

Route post(std::string path, Handler handler) {
  Route route = get(std::move(path), std::move(handler));
  route.method = "POST";
  route.on_worker = true;
  return route;
}

Route generation(std::string path, GenerationHandler handler) {
  Route route = post(std::move(path), {});
  route.generation = std::move(handler);
  return route;
}

// The engine's state as a status.
Handler health(const ApiService* api, std::string body) {
  return [api, body = std::move(body)](const HttpRequest&) -> Result<HttpResponse> {
    const Result<void> health = api->health();
    if (!health) {
      return std::unexpected(health.error());
    }
    return json_response(body);
  };
}

Route open_route(Route route) {
  route.open = true;
  return route;
}

// Errors of the route look as Anthropic's clients expect them.
Route anthropic(Route route) {
  route.write_error = messages_api::error_body;
  return route;
}

}  // namespace

void add_routes(const ApiService& service, const Metrics& metrics, Router& router) {
  const ApiService* api = &service;
  router.add(generation("/v1/chat/completions",
                        [api](const HttpRequest& request) { return api->chat(request.body); }));
  router.add(generation("/v1/completions", [api](const HttpRequest& request) {
    return api->completion(request.body);
  }));
  router.add(generation(
      "/v1/responses", [api](const HttpRequest& request) { return api->responses(request.body); }));
  router.add(anthropic(generation(
      "/v1/messages", [api](const HttpRequest& request) { return api->messages(request.body); })));
  router.add(anthropic(post("/v1/messages/count_tokens", [api](const HttpRequest& request) {
    return json_result(api->count_message_tokens(request.body));
  })));
  router.add(post("/tokenize", [api](const HttpRequest& request) {
    return json_result(api->tokenize(request.body));
  }));
  router.add(post("/detokenize", [api](const HttpRequest& request) {
    return json_result(api->detokenize(request.body));
  }));
  router.add(get("/v1/models", [api](const HttpRequest&) { return json_result(api->models()); }));
  router.add(get("/v1/models/", [api](const HttpRequest& request) {
    constexpr std::string_view kPrefix = "/v1/models/";
    return json_result(api->model(std::string_view(request.path).substr(kPrefix.size())));
  }));
  router.add(open_route(get("/health", health(api, "{\"status\":\"ok\"}"))));
  router.add(open_route(get("/ping", health(api, "{}"))));  // SageMaker's name for it
  router.add(open_route(
      get("/version", [api](const HttpRequest&) { return json_result(api->version()); })));
  router.add(get("/get_model_info",
                 [api](const HttpRequest&) { return json_result(model_info_body(*api)); }));
  router.add(get("/get_server_info",
                 [api](const HttpRequest&) { return json_result(server_info_body(*api)); }));
  router.add(get("/metrics", [api, &metrics](const HttpRequest&) -> Result<HttpResponse> {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics.text(api->context().get());
    return response;
  }));
}

}  // namespace deltaserve
