// generation_config.json: stop tokens and the sampling that the checkpoint's authors recommend.
#include <cfloat>

#include "model/config.h"
#include "model/config_reader.h"

namespace deltaserve {

Result<GenerationConfig> parse_generation_config(const json::Value& value) {
  GenerationConfig config;
  if (value.is_null()) {
    return config;
  }
  if (!value.is_object()) {
    return invalid("generation_config.json: not a JSON object");
  }
  const json::Object& object = value.get_object();
  ConfigReader reader(object, "", "generation_config.json");
  config.eos_token_ids = reader.token_ids("eos_token_id");
  config.temperature = reader.optional_number("temperature", 0.0, 100.0);
  config.top_p = reader.optional_number("top_p", 0.0, 1.0);
  if (reader.has("top_k")) {
    config.top_k = reader.integer("top_k", 0, INT32_MAX);
  }
  config.min_p = reader.optional_number("min_p", 0.0, 1.0);
  // Logits are divided by it: zero has no meaning.
  config.repetition_penalty = reader.optional_number("repetition_penalty", FLT_MIN, 100.0);
  if (reader.has("do_sample")) {
    config.do_sample = reader.boolean("do_sample", true);
  }
  if (reader.failed()) {
    return std::unexpected(reader.error());
  }
  return config;
}

}  // namespace deltaserve
