// ResponsesFormat: at most one item is open at a time, the last one.
#include "api/responses_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/error_body.h"
#include "api/logprobs_json.h"
#include "api/request_id.h"
#include "base/check.h"
#include "json/json.h"

namespace deltaserve {

using responses_api::ItemKind;
using responses_api::ItemStatus;
using responses_api::OutputItem;
using responses_api::ResponseSnapshot;
using responses_api::ResponseStatus;

namespace {

constexpr std::string_view kEventEnd = "}\n\n";

bool has_part(ItemKind kind) {
  return kind != ItemKind::kFunctionCall;
}

void append_key(std::string_view key, std::string_view text, std::string& out) {
  fmt::format_to(std::back_inserter(out), ",\"{}\":", key);
  json::append_quoted(text, out);
}

void append_key_or_null(std::string_view key, std::string_view text, std::string& out) {
  if (text.empty()) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":null", key);
  } else {
    append_key(key, text, out);
  }
}

}  // namespace

void ResponsesFormat::start_choice(int32_t /*index*/, const PromptInfo& /*prompt*/,
                                   const Usage& /*usage*/, std::string& out) {
  start(out);
}

void ResponsesFormat::start(std::string& out) {
  if (!started_) {
    started_ = true;
    append_snapshot("response.created", {}, out);
    append_snapshot("response.in_progress", {}, out);
  }
}

void ResponsesFormat::append_delta(int32_t /*index*/, const ChoiceDelta& delta,
                                   const Usage& /*usage*/, std::string& out) {
  std::ranges::copy_if(
      delta.logprobs, std::back_inserter(logprobs_),
      [](const LogprobEntry& entry) { return entry.content_begin < entry.content_end; });
  for (const OutputEvent& event : delta.events) {
    append_event(event, out);
  }
  if (item_open_ && items_.back().kind == ItemKind::kMessage) {
    take_logprobs();
  }
}

void ResponsesFormat::append_event(const OutputEvent& event, std::string& out) {
  switch (event.kind) {
    case OutputEvent::Kind::kReasoning:
      append_text(ItemKind::kReasoning, event.text, out);
      break;
    case OutputEvent::Kind::kContent:
      append_text(ItemKind::kMessage, event.text, out);
      break;
    case OutputEvent::Kind::kToolCallBegin: {
      OutputItem item;
      item.kind = ItemKind::kFunctionCall;
      item.call_id = event.id;
      item.name = event.name;
      open_item(std::move(item), out);
      break;
    }
    case OutputEvent::Kind::kArguments:
      append_arguments(event.text, out);
      break;
    case OutputEvent::Kind::kToolCallEnd:
      close_item(ItemStatus::kCompleted, out);
      break;
  }
}

void ResponsesFormat::append_text(ItemKind kind, const std::string& text, std::string& out) {
  if (!item_open_ || items_.back().kind != kind) {
    OutputItem item;
    item.kind = kind;
    open_item(std::move(item), out);
    begin_part_event("response.content_part.added", out);
    out += ",\"part\":";
    append_part(kind, "", "", out);
    out += kEventEnd;
  }
  items_.back().text += text;
  const bool message = kind == ItemKind::kMessage;
  begin_part_event(message ? "response.output_text.delta" : "response.reasoning_text.delta", out);
  append_key("delta", text, out);
  if (message) {
    content_bytes_ += text.size();
    fmt::format_to(std::back_inserter(out), ",\"logprobs\":[{}]", take_logprobs());
  }
  out += kEventEnd;
}

void ResponsesFormat::append_arguments(const std::string& text, std::string& out) {
  DS_CHECK(item_open_ && items_.back().kind == ItemKind::kFunctionCall);
  items_.back().text += text;
  begin_item_event("response.function_call_arguments.delta", out);
  append_key("delta", text, out);
  out += kEventEnd;
}

void ResponsesFormat::open_item(OutputItem item, std::string& out) {
  close_item(ItemStatus::kCompleted, out);
  item.id = responses_api::item_id(item.kind, options_->id, items_.size());
  items_.push_back(std::move(item));
  item_open_ = true;
  begin_event("response.output_item.added", out);
  fmt::format_to(std::back_inserter(out), ",\"output_index\":{},\"item\":", items_.size() - 1);
  append_item(items_.back(), settings_.carry_reasoning, out);
  out += kEventEnd;
}

// A call that was cut has no arguments.done: they are not to be acted upon.
void ResponsesFormat::close_item(ItemStatus status, std::string& out) {
  if (!item_open_) {
    return;
  }
  item_open_ = false;
  OutputItem& item = items_.back();
  item.status = status;
  if (has_part(item.kind)) {
    append_text_end(item, out);
  } else if (status == ItemStatus::kCompleted) {
    begin_item_event("response.function_call_arguments.done", out);
    append_key("name", item.name, out);
    append_key("arguments", item.text, out);
    out += kEventEnd;
  }
  begin_event("response.output_item.done", out);
  fmt::format_to(std::back_inserter(out), ",\"output_index\":{},\"item\":", items_.size() - 1);
  append_item(item, settings_.carry_reasoning, out);
  out += kEventEnd;
}

void ResponsesFormat::append_text_end(const OutputItem& item, std::string& out) {
  const bool message = item.kind == ItemKind::kMessage;
  begin_part_event(message ? "response.output_text.done" : "response.reasoning_text.done", out);
  append_key("text", item.text, out);
  if (message) {
    fmt::format_to(std::back_inserter(out), ",\"logprobs\":[{}]", item.logprobs);
  }
  out += kEventEnd;
  begin_part_event("response.content_part.done", out);
  out += ",\"part\":";
  append_part(item.kind, item.text, item.logprobs, out);
  out += kEventEnd;
}

std::string ResponsesFormat::take_logprobs() {
  std::vector<LogprobEntry> taken;
  while (!logprobs_.empty() && logprobs_.front().content_begin < content_bytes_) {
    taken.push_back(std::move(logprobs_.front()));
    logprobs_.pop_front();
  }
  std::string json;
  append_logprob_objects(*tokenizer_, taken, json);
  std::string& all = items_.back().logprobs;
  all += all.empty() || json.empty() ? "" : ",";
  all += json;
  return json;
}

void ResponsesFormat::end_choice(int32_t /*index*/, const ChoiceEnd& end,
                                 const ChoiceDelta& /*rest*/, const Usage& /*usage*/,
                                 std::string& out) {
  finish_ = end.finish;
  const bool open_call = item_open_ && items_.back().kind == ItemKind::kFunctionCall;
  const bool cut = open_call || finish_ == ChoiceFinish::kLength;
  close_item(cut ? ItemStatus::kIncomplete : ItemStatus::kCompleted, out);
}

ResponseSnapshot ResponsesFormat::final_snapshot(const Usage& usage) const {
  ResponseSnapshot snapshot;
  snapshot.status =
      finish_ == ChoiceFinish::kLength ? ResponseStatus::kIncomplete : ResponseStatus::kCompleted;
  snapshot.output = &items_;
  snapshot.usage = &usage;
  snapshot.completed_at = unix_seconds();
  return snapshot;
}

void ResponsesFormat::end_stream(const Usage& usage, std::string& out) {
  append_snapshot(finish_ == ChoiceFinish::kLength ? "response.incomplete" : "response.completed",
                  final_snapshot(usage), out);
}

void ResponsesFormat::append_error(const Error& error, std::string& out) {
  start(out);
  close_item(ItemStatus::kIncomplete, out);
  begin_event("error", out);
  append_key_or_null("code", error.api_code.empty() ? error_type(error.code) : error.api_code, out);
  append_key("message", error.message, out);
  append_key_or_null("param", error.param, out);
  out += kEventEnd;
  ResponseSnapshot snapshot;
  snapshot.status = ResponseStatus::kFailed;
  snapshot.output = &items_;
  snapshot.error = &error;
  append_snapshot("response.failed", snapshot, out);
}

std::string ResponsesFormat::body(const std::vector<CollectedChoice>& choices, const Usage& usage) {
  const CollectedChoice& choice = choices.front();
  std::string events;  // nobody gets them
  append_delta(0, choice.sum, usage, events);
  end_choice(0, choice.end, {}, usage, events);
  std::string out;
  append_response(*options_, settings_, final_snapshot(usage), out);
  return out;
}

std::string ResponsesFormat::error_body(const Error& error) const {
  return deltaserve::error_body(error);
}

void ResponsesFormat::append_snapshot(std::string_view type, const ResponseSnapshot& snapshot,
                                      std::string& out) {
  begin_event(type, out);
  out += ",\"response\":";
  append_response(*options_, settings_, snapshot, out);
  out += kEventEnd;
}

void ResponsesFormat::begin_event(std::string_view type, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "event: {}\ndata: {{\"type\":\"{}\",\"sequence_number\":{}", type, type,
                 sequence_number_++);
}

void ResponsesFormat::begin_item_event(std::string_view type, std::string& out) {
  begin_event(type, out);
  fmt::format_to(std::back_inserter(out), ",\"item_id\":\"{}\",\"output_index\":{}",
                 items_.back().id, items_.size() - 1);
}

void ResponsesFormat::begin_part_event(std::string_view type, std::string& out) {
  begin_item_event(type, out);
  out += ",\"content_index\":0";
}

}  // namespace deltaserve
