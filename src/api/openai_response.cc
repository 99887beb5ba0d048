// Chunks and bodies of OpenAI's two completion endpoints.
#include "api/openai_response.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/error_body.h"
#include "json/json.h"

namespace deltaserve {
namespace {

void append_stop_reason(const StopReason& reason, std::string& out) {
  if (const auto* token = std::get_if<int32_t>(&reason)) {
    fmt::format_to(std::back_inserter(out), "{}", *token);
  } else if (const auto* text = std::get_if<std::string>(&reason)) {
    json::append_quoted(*text, out);
  } else {
    out += "null";
  }
}

}  // namespace

const char* finish_reason_name(ChoiceFinish finish) {
  switch (finish) {
    case ChoiceFinish::kStop:
      return "stop";
    case ChoiceFinish::kLength:
      return "length";
    case ChoiceFinish::kToolCalls:
      return "tool_calls";
  }
  return "stop";
}

OpenAiResponse::OpenAiResponse(const Tokenizer& tokenizer, const ResponseOptions& options,
                               std::string object, std::string chunk_object)
    : tokenizer_(&tokenizer),
      options_(&options),
      object_(std::move(object)),
      chunk_object_(std::move(chunk_object)) {}

void OpenAiResponse::append_head(const std::string& object, std::string& out) const {
  fmt::format_to(std::back_inserter(out),
                 "\"id\":\"{}\",\"object\":\"{}\",\"created\":{},\"model\":", options_->id, object,
                 options_->created);
  json::append_quoted(options_->model, out);
}

void OpenAiResponse::open_chunk(int32_t index, std::string& out) const {
  out += "data: {";
  append_head(chunk_object_, out);
  fmt::format_to(std::back_inserter(out), ",\"choices\":[{{\"index\":{}", index);
}

void OpenAiResponse::close_chunk(const Usage& usage, std::string& out) const {
  out += "}]";
  if (options_->continuous_usage) {
    out += ",\"usage\":";
    append_usage_json(usage, out);
  }
  out += "}\n\n";
}

void OpenAiResponse::append_choice_tail(const std::vector<LogprobEntry>& logprobs,
                                        const ChoiceEnd* end, std::string& out) const {
  out += ",\"logprobs\":";
  if (options_->num_logprobs < 0 || logprobs.empty()) {
    out += "null";
  } else {
    append_logprobs(logprobs, out);
  }
  if (end == nullptr) {
    out += ",\"finish_reason\":null";
    return;
  }
  fmt::format_to(std::back_inserter(out),
                 ",\"finish_reason\":\"{}\",\"stop_reason\":", finish_reason_name(end->finish));
  append_stop_reason(end->stop_reason, out);
}

void OpenAiResponse::append_token_ids(const char* key, const std::vector<int32_t>& ids,
                                      std::string& out) const {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", key);
  for (size_t i = 0; i < ids.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", ids[i]);
  }
  out += ']';
}

// One chunk an event, so that clients that read a delta's keys in an order of their own keep the
// model's; what belongs to all of them together goes with the last.
void OpenAiResponse::append_delta(int32_t index, const ChoiceDelta& delta, const Usage& usage,
                                  std::string& out) {
  bool open = false;
  std::string keys;
  for (const OutputEvent& event : delta.events) {
    keys.clear();
    if (!append_event(event, keys)) {
      continue;
    }
    if (open) {
      append_choice_tail({}, nullptr, out);
      close_chunk(usage, out);
    }
    open_chunk(index, out);
    out += keys;
    open = true;
  }
  if (!open) {
    if (delta.logprobs.empty() && delta.token_ids.empty()) {
      return;
    }
    open_chunk(index, out);
    append_nothing(out);
  }
  append_choice_tail(delta.logprobs, nullptr, out);
  if (!delta.token_ids.empty()) {
    append_token_ids("token_ids", delta.token_ids, out);
  }
  close_chunk(usage, out);
}

void OpenAiResponse::end_choice(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest,
                                const Usage& usage, std::string& out) {
  open_chunk(index, out);
  append_nothing(out);
  append_choice_tail(rest.logprobs, &end, out);
  if (!rest.token_ids.empty()) {
    append_token_ids("token_ids", rest.token_ids, out);
  }
  close_chunk(usage, out);
}

void OpenAiResponse::end_stream(const Usage& usage, std::string& out) {
  if (options_->include_usage) {
    out += "data: {";
    append_head(chunk_object_, out);
    out += ",\"choices\":[],\"usage\":";
    append_usage_json(usage, out);
    out += "}\n\n";
  }
  out += "data: [DONE]\n\n";
}

void OpenAiResponse::append_error(const Error& error, std::string& out) {
  out += "data: ";
  out += error_body(error);
  out += "\n\ndata: [DONE]\n\n";
}

std::string OpenAiResponse::error_body(const Error& error) const {
  return deltaserve::error_body(error);
}

void OpenAiResponse::append_body_choice(size_t index, const CollectedChoice& choice,
                                        std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{}{{\"index\":{}", index == 0 ? "" : ",", index);
  append_message(choice, out);
  append_choice_tail(choice.sum.logprobs, &choice.end, out);
  if (options_->return_token_ids) {
    append_token_ids("token_ids", choice.sum.token_ids, out);
    append_token_ids("prompt_token_ids", choice.prompt->token_ids, out);
  }
  out += "}";
}

std::string OpenAiResponse::body(const std::vector<CollectedChoice>& choices, const Usage& usage) {
  std::string out = "{";
  append_head(object_, out);
  out += ",\"choices\":[";
  for (size_t i = 0; i < choices.size(); ++i) {
    append_body_choice(i, choices[i], out);
  }
  out += "],\"usage\":";
  append_usage_json(usage, out);
  append_body_end(*choices.front().prompt, out);
  out += "}";
  return out;
}

void OpenAiResponse::append_body_end(const PromptInfo& /*prompt*/, std::string& /*out*/) const {}

}  // namespace deltaserve
