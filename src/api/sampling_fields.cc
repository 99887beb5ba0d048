// Sampling fields: one line a field, ranges as OpenAI and vLLM have them.
#include "api/sampling_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "engine/default_sampling.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// The field over the value that is there.
void read_float(FieldReader& fields, std::string_view key, double low, double high, float& value) {
  if (const auto number = fields.number(key, low, high)) {
    value = static_cast<float>(*number);
  }
}

void read_top_k(FieldReader& fields, SamplingParams& sampling) {
  const int64_t top_k = fields.integer("top_k", -1, kMaxInt32).value_or(sampling.top_k);
  sampling.top_k = static_cast<int32_t>(std::max<int64_t>(top_k, 0));  // -1 is off too
}

void read_repetition_penalty(FieldReader& fields, SamplingParams& sampling) {
  constexpr double kNoLimit = std::numeric_limits<float>::max();
  read_float(fields, "repetition_penalty", 0.0, kNoLimit, sampling.repetition_penalty);
  if (!(sampling.repetition_penalty > 0.0F)) {
    fields.refuse("repetition_penalty", "'repetition_penalty' must be above 0.");
  }
}

void read_logit_bias(const ServingContext& context, FieldReader& fields, SamplingParams& sampling) {
  const json::Object* biases = fields.object("logit_bias");
  if (biases == nullptr) {
    return;
  }
  for (const auto& [key, value] : *biases) {
    int32_t token = -1;
    const std::string_view text(key);
    const auto code = std::from_chars(text.data(), text.data() + text.size(), token).ec;
    // Written in one way only ("01" is none), so that no token has two.
    const bool plain = code == std::errc() && text == fmt::format_int(token).c_str();
    if (!plain || token < 0 || token >= context.tokenizer->vocab_size()) {
      fields.refuse("logit_bias",
                    fmt::format("'logit_bias' keys must be token ids from 0 to {}, got '{}'.",
                                context.tokenizer->vocab_size() - 1, text));
      return;
    }
    FieldReader entry(*biases, "logit_bias");
    const std::optional<double> bias = entry.number(text, -100.0, 100.0);
    if (!entry.ok()) {
      fields.fail(entry.error());
      return;
    }
    sampling.logit_bias.push_back({token, static_cast<float>(bias.value_or(0.0))});
  }
}

void read_stop_strings(const ServingContext& context, FieldReader& fields,
                       ResponseOptions& options) {
  const json::Value* stop = fields.value("stop");
  if (stop == nullptr) {
    return;
  }
  if (stop->is_string()) {
    options.stop.emplace_back(stop->get_string());
  } else if (stop->is_array()) {
    for (const json::Value& entry : stop->get_array()) {
      if (!entry.is_string()) {
        fields.refuse("stop",
                      fmt::format("'stop' must hold strings, got {}.", json::kind_name(entry)));
        return;
      }
      options.stop.emplace_back(entry.get_string());
    }
  } else {
    fields.refuse("stop", fmt::format("'stop' must be a string or an array of strings, got {}.",
                                      json::kind_name(*stop)));
    return;
  }
  if (options.stop.size() > context.limits.max_stop_strings) {
    fields.refuse("stop", fmt::format("'stop' may have at most {} strings, got {}.",
                                      context.limits.max_stop_strings, options.stop.size()));
  }
  if (std::ranges::any_of(options.stop, &std::string::empty)) {
    fields.refuse("stop", "'stop' must not hold an empty string.");
  }
  const auto too_long = [](const std::string& text) { return text.size() > kMaxStopBytes; };
  if (std::ranges::any_of(options.stop, too_long)) {
    fields.refuse("stop",
                  fmt::format("A string of 'stop' may have at most {} bytes.", kMaxStopBytes));
  }
}

void read_stop_token_ids(const ServingContext& context, FieldReader& fields,
                         SamplingParams& sampling) {
  const json::Array* ids = fields.array("stop_token_ids");
  if (ids == nullptr) {
    return;
  }
  for (const json::Value& id : *ids) {
    if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() >= context.tokenizer->vocab_size()) {
      fields.refuse("stop_token_ids",
                    fmt::format("'stop_token_ids' must hold token ids from 0 to {}.",
                                context.tokenizer->vocab_size() - 1));
      return;
    }
    sampling.stop_token_ids.push_back(static_cast<int32_t>(id.get_int64()));
  }
  // All of them are compared with every token: each once.
  std::ranges::sort(sampling.stop_token_ids);
  const auto repeated = std::ranges::unique(sampling.stop_token_ids);
  sampling.stop_token_ids.erase(repeated.begin(), repeated.end());
}

void read_n(const ServingContext& context, FieldReader& fields, SamplingParams& sampling) {
  const int64_t n = fields.integer("n", 1, kMaxInt64).value_or(1);
  if (n > context.limits.max_n) {
    fields.refuse("n", fmt::format("'n' must be at most {} on this server, got {}.",
                                   context.limits.max_n, n));
    return;
  }
  sampling.n = static_cast<int32_t>(n);
}

}  // namespace

void read_sampling_fields(const ServingContext& context, FieldReader& fields,
                          SamplingParams& sampling, ResponseOptions& options) {
  sampling = default_sampling(context.generation_config);
  read_float(fields, "temperature", 0.0, 2.0, sampling.temperature);
  read_float(fields, "top_p", 0.0, 1.0, sampling.top_p);
  read_float(fields, "min_p", 0.0, 1.0, sampling.min_p);
  read_float(fields, "frequency_penalty", -2.0, 2.0, sampling.frequency_penalty);
  read_float(fields, "presence_penalty", -2.0, 2.0, sampling.presence_penalty);
  read_repetition_penalty(fields, sampling);
  read_top_k(fields, sampling);
  read_n(context, fields, sampling);
  constexpr int64_t kMinInt64 = std::numeric_limits<int64_t>::min();
  if (const auto seed = fields.integer("seed", kMinInt64, kMaxInt64)) {
    sampling.seed = static_cast<uint64_t>(*seed);
  }
  sampling.min_tokens = fields.integer("min_tokens", 0, kMaxInt64).value_or(0);
  sampling.ignore_eos = fields.boolean("ignore_eos", false);
  read_logit_bias(context, fields, sampling);
  read_stop_token_ids(context, fields, sampling);
  read_stop_strings(context, fields, options);
  options.n = sampling.n;
  options.min_tokens = sampling.min_tokens;
  options.stop_token_ids = sampling.stop_token_ids;
  options.skip_special_tokens = fields.boolean("skip_special_tokens", true);
  options.include_stop_string = fields.boolean("include_stop_str_in_output", false);
  options.return_token_ids = fields.boolean("return_token_ids", false);
}

void read_stream_fields(FieldReader& fields, ResponseOptions& options) {
  options.stream = fields.boolean("stream", false);
  const json::Object* stream_options = fields.object("stream_options");
  if (stream_options == nullptr) {
    return;
  }
  if (!options.stream) {
    fields.refuse("stream_options", "'stream_options' is only allowed when 'stream' is true.");
    return;
  }
  FieldReader nested(*stream_options, "stream_options");
  options.include_usage = nested.boolean("include_usage", false);
  options.continuous_usage =
      nested.boolean("continuous_usage_stats", false) && options.include_usage;
  if (!nested.ok()) {
    fields.fail(nested.error());
  }
}

void read_model_field(const ServingContext& context, FieldReader& fields,
                      ResponseOptions& options) {
  options.model = fields.string("model").value_or(context.model_ids.front());
  if (std::ranges::find(context.model_ids, options.model) == context.model_ids.end()) {
    fields.fail(Error{ErrorCode::kNotFound,
                      fmt::format("The model '{}' does not exist; this server has '{}'.",
                                  options.model, context.model_ids.front()),
                      "model", "model_not_found"});
  }
}

int32_t read_priority(FieldReader& fields) {
  constexpr int64_t kMinInt32 = std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(fields.integer("priority", kMinInt32, kMaxInt32).value_or(0));
}

void refuse_unsupported_fields(FieldReader& fields) {
  constexpr std::string_view kUnsupported[] = {"chat_template", "bad_words", "allowed_token_ids",
                                               "truncate_prompt_tokens", "logits_processors"};
  for (const std::string_view key : kUnsupported) {
    const json::Value* value = fields.value(key);
    const bool empty = value == nullptr || (value->is_array() && value->get_array().empty());
    if (!empty) {
      fields.refuse(key, fmt::format("'{}' is not supported.", key));
    }
  }
  if (fields.boolean("use_beam_search", false)) {
    fields.refuse("use_beam_search", "Beam search is not supported.");
  }
  if (fields.value("prompt_logprobs") != nullptr) {
    fields.refuse("prompt_logprobs",
                  "'prompt_logprobs' is not supported: use 'echo' with 'logprobs' in "
                  "/v1/completions.");
  }
}

Result<void> resolve_max_tokens(const ServingContext& context, int64_t num_prompt_tokens,
                                std::optional<int64_t> requested, const LengthFields& names,
                                SamplingParams& sampling) {
  const int64_t limit = context.max_model_len;
  const int64_t room = limit - num_prompt_tokens;
  if (room < 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The prompt has {} tokens, which leaves no room for an answer in this "
                            "model's context of {} tokens. Shorten the prompt.",
                            num_prompt_tokens, limit),
                std::string(names.prompt), "context_length_exceeded");
  }
  if (requested && *requested > room) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("This model's context is {} tokens, but the prompt has {} tokens and "
                            "'{}' asks for {} more. Shorten the prompt or ask for at most {}.",
                            limit, num_prompt_tokens, names.limit, *requested, room),
                std::string(names.limit), "context_length_exceeded");
  }
  sampling.max_tokens = requested.value_or(room);
  if (sampling.min_tokens > sampling.max_tokens) {
    return invalid(fmt::format("'min_tokens' is {}, more than the {} tokens that may be generated.",
                               sampling.min_tokens, sampling.max_tokens),
                   "min_tokens");
  }
  return {};
}

}  // namespace deltaserve
