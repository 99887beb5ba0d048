// Chat answers: the first delta of a choice has the role, later ones only what they add.
#include "api/chat_response.h"

#include <fmt/format.h>

#include <iterator>

#include "api/logprobs_json.h"
#include "chat/output_message.h"
#include "json/json.h"

namespace deltaserve {
namespace {

// Id, type and name come once, with empty arguments; later pieces have the index alone.
void append_call_begin(const OutputEvent& event, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\"tool_calls\":[{{\"index\":{},\"id\":", event.index);
  json::append_quoted(event.id, out);
  out += ",\"type\":\"function\",\"function\":{\"name\":";
  json::append_quoted(event.name, out);
  out += ",\"arguments\":\"\"}}]";
}

void append_arguments(const OutputEvent& event, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "\"tool_calls\":[{{\"index\":{},\"function\":{{\"arguments\":", event.index);
  json::append_quoted(event.text, out);
  out += "}}]";
}

}  // namespace

std::unique_ptr<ResponseFormat> ChatResponse::make(const Tokenizer& tokenizer,
                                                   const ResponseOptions& options) {
  return std::make_unique<ChatResponse>(tokenizer, options);
}

void ChatResponse::start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                                std::string& out) {
  open_chunk(index, out);
  out += ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}";
  append_choice_tail({}, nullptr, out);
  if (options().return_token_ids) {
    append_token_ids("prompt_token_ids", prompt.token_ids, out);
  }
  close_chunk(usage, out);
}

bool ChatResponse::append_event(const OutputEvent& event, std::string& out) const {
  out += ",\"delta\":{";
  switch (event.kind) {
    case OutputEvent::Kind::kReasoning:
      out += "\"reasoning_content\":";
      json::append_quoted(event.text, out);
      out += ",\"reasoning\":";
      json::append_quoted(event.text, out);
      break;
    case OutputEvent::Kind::kContent:
      out += "\"content\":";
      json::append_quoted(event.text, out);
      break;
    case OutputEvent::Kind::kToolCallBegin:
      append_call_begin(event, out);
      break;
    case OutputEvent::Kind::kArguments:
      append_arguments(event, out);
      break;
    case OutputEvent::Kind::kToolCallEnd:
      return false;
  }
  out += "}";
  return true;
}

void ChatResponse::append_nothing(std::string& out) const {
  out += ",\"delta\":{}";
}

void ChatResponse::append_message(const CollectedChoice& choice, std::string& out) const {
  OutputMessage message;
  message.add(choice.sum.events);
  out += ",\"message\":";
  out += json::serialize(message.message());
}

void ChatResponse::append_logprobs(const std::vector<LogprobEntry>& entries,
                                   std::string& out) const {
  append_chat_logprobs(tokenizer(), entries, out);
}

void ChatResponse::append_body_end(const PromptInfo& prompt, std::string& out) const {
  if (options().return_token_ids) {
    append_token_ids("prompt_token_ids", prompt.token_ids, out);
  }
}

}  // namespace deltaserve
