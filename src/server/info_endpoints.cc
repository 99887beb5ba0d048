// Model and server information as JSON.
#include "server/info_endpoints.h"

namespace deltaserve {
namespace {

Result<std::shared_ptr<const ServingContext>> loaded(const ApiService& service) {
  auto context = service.context();
  if (!context) {
    return fail(ErrorCode::kUnavailable, "The model is still being loaded.");
  }
  return context;
}

json::Object model_info(const ServingContext& context) {
  const std::string& name = context.model_ids.front();
  return {{"model_path", name},
          {"tokenizer_path", name},
          {"is_generation", true},
          {"max_model_len", context.max_model_len}};
}

}  // namespace

Result<std::string> model_info_body(const ApiService& service) {
  const auto context = loaded(service);
  if (!context) {
    return std::unexpected(context.error());
  }
  return json::serialize(model_info(**context));
}

Result<std::string> server_info_body(const ApiService& service) {
  const auto context = loaded(service);
  if (!context) {
    return std::unexpected(context.error());
  }
  Result<json::Value> version = json::parse(service.version());
  if (!version) {
    return std::unexpected(version.error());
  }
  json::Object info = model_info(**context);
  info["version"] = version->at("version");
  const EngineStats stats = (*context)->engine->stats();
  info["num_running_requests"] = stats.num_running;
  info["num_waiting_requests"] = stats.num_waiting;
  info["kv_cache_usage"] = stats.kv_cache_usage;
  return json::serialize(info);
}

}  // namespace deltaserve
