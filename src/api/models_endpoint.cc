// Model objects with vLLM's max_model_len, which clients read to size their prompts.
#include "api/models_endpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/json.h"

namespace deltaserve {
namespace {

json::Object model_object(const ServingContext& context, std::string_view id) {
  return json::Object{{"id", id},
                      {"object", "model"},
                      {"created", context.created},
                      {"owned_by", "deltaserve"},
                      {"root", context.model_ids.front()},
                      {"parent", nullptr},
                      {"max_model_len", context.max_model_len}};
}

}  // namespace

std::string models_body(const ServingContext& context) {
  json::Array data;
  for (const std::string& id : context.model_ids) {
    data.push_back(model_object(context, id));
  }
  return json::serialize(json::Object{{"object", "list"}, {"data", std::move(data)}});
}

Result<std::string> model_body(const ServingContext& context, std::string_view id) {
  if (std::ranges::find(context.model_ids, id) == context.model_ids.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("The model '{}' does not exist.", id), "model",
                "model_not_found");
  }
  return json::serialize(model_object(context, id));
}

}  // namespace deltaserve
