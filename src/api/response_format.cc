// The parts that chat and text completions have in common.
#include "api/response_format.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

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

const char* finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kAbort:
      return "abort";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

ResponseFormat::ResponseFormat(const Tokenizer& tokenizer, const ResponseOptions& options,
                               std::string object, std::string chunk_object)
    : tokenizer_(&tokenizer),
      options_(&options),
      object_(std::move(object)),
      chunk_object_(std::move(chunk_object)) {}

void ResponseFormat::append_head(const std::string& object, std::string& out) const {
  fmt::format_to(std::back_inserter(out),
                 "\"id\":\"{}\",\"object\":\"{}\",\"created\":{},\"model\":", options_->id, object,
                 options_->created);
  json::append_quoted(options_->model, out);
}

void ResponseFormat::open_chunk(int32_t index, std::string& out) const {
  out += "data: {";
  append_head(chunk_object_, out);
  fmt::format_to(std::back_inserter(out), ",\"choices\":[{{\"index\":{}", index);
}

void ResponseFormat::close_chunk(const Usage* usage, std::string& out) const {
  out += "}]";
  if (usage != nullptr) {
    out += ",\"usage\":";
    append_usage_json(*usage, out);
  }
  out += "}\n\n";
}

void ResponseFormat::append_choice_tail(const std::vector<LogprobEntry>& logprobs,
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
  fmt::format_to(std::back_inserter(out), ",\"finish_reason\":\"{}\",\"stop_reason\":",
                 finish_reason_name(end->finish_reason));
  append_stop_reason(end->stop_reason, out);
}

void ResponseFormat::append_token_ids(const char* key, const std::vector<int32_t>& ids,
                                      std::string& out) const {
  fmt::format_to(std::back_inserter(out), ",\"{}\":[", key);
  for (size_t i = 0; i < ids.size(); ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", ids[i]);
  }
  out += ']';
}

void ResponseFormat::append_delta(int32_t index, const ChoiceDelta& delta, const Usage* usage,
                                  std::string& out) const {
  open_chunk(index, out);
  append_chunk_text(delta.content, out);
  append_choice_tail(delta.logprobs, nullptr, out);
  if (!delta.token_ids.empty()) {
    append_token_ids("token_ids", delta.token_ids, out);
  }
  close_chunk(usage, out);
}

void ResponseFormat::append_end(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest,
                                const Usage* usage, std::string& out) const {
  open_chunk(index, out);
  append_chunk_end(out);
  append_choice_tail(rest.logprobs, &end, out);
  if (!rest.token_ids.empty()) {
    append_token_ids("token_ids", rest.token_ids, out);
  }
  close_chunk(usage, out);
}

void ResponseFormat::append_usage(const Usage& usage, std::string& out) const {
  out += "data: {";
  append_head(chunk_object_, out);
  out += ",\"choices\":[],\"usage\":";
  append_usage_json(usage, out);
  out += "}\n\n";
}

void ResponseFormat::append_body_choice(size_t index, const CollectedChoice& choice,
                                        std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{}{{\"index\":{}", index == 0 ? "" : ",", index);
  append_message(choice.sum, out);
  append_choice_tail(choice.sum.logprobs, &choice.end, out);
  if (options_->return_token_ids) {
    append_token_ids("token_ids", choice.sum.token_ids, out);
    append_token_ids("prompt_token_ids", *choice.prompt_token_ids, out);
  }
  out += "}";
}

std::string ResponseFormat::body(const std::vector<CollectedChoice>& choices,
                                 const Usage& usage) const {
  std::string out = "{";
  append_head(object_, out);
  out += ",\"choices\":[";
  for (size_t i = 0; i < choices.size(); ++i) {
    append_body_choice(i, choices[i], out);
  }
  out += "],\"usage\":";
  append_usage_json(usage, out);
  if (options_->return_token_ids && options_->chat) {
    append_token_ids("prompt_token_ids", *choices.front().prompt_token_ids, out);
  }
  out += "}";
  return out;
}

}  // namespace deltaserve
