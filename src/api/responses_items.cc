// Keys in the order of OpenAI's own answers.
#include "api/responses_items.h"

#include <fmt/format.h>

#include <iterator>

#include "api/responses_input.h"
#include "json/json.h"

namespace deltaserve::responses_api {
namespace {

const char* status_name(ItemStatus status) {
  switch (status) {
    case ItemStatus::kInProgress:
      return "in_progress";
    case ItemStatus::kCompleted:
      return "completed";
    case ItemStatus::kIncomplete:
      return "incomplete";
  }
  return "incomplete";
}

void append_content(const OutputItem& item, std::string& out) {
  out += ",\"content\":[";
  if (item.status != ItemStatus::kInProgress) {
    append_part(item.kind, item.text, item.logprobs, out);
  }
  out += ']';
}

void append_reasoning(const OutputItem& item, bool carry, std::string& out) {
  out += ",\"summary\":[]";
  append_content(item, out);
  if (carry && item.status != ItemStatus::kInProgress) {
    out += ",\"encrypted_content\":";
    json::append_quoted(std::string(kReasoningCarrier) + item.text, out);
  }
}

void append_call(const OutputItem& item, std::string& out) {
  out += ",\"call_id\":";
  json::append_quoted(item.call_id, out);
  out += ",\"name\":";
  json::append_quoted(item.name, out);
  out += ",\"arguments\":";
  json::append_quoted(item.status == ItemStatus::kInProgress ? std::string_view() : item.text, out);
}

}  // namespace

std::string item_id(ItemKind kind, std::string_view response_id, size_t output_index) {
  const std::string_view unique = response_id.substr(response_id.find('_') + 1);
  const char* prefix = kind == ItemKind::kReasoning ? "rs"
                       : kind == ItemKind::kMessage ? "msg"
                                                    : "fc";
  return fmt::format("{}_{}_{}", prefix, unique, output_index);
}

void append_item(const OutputItem& item, bool carry_reasoning, std::string& out) {
  const char* type = item.kind == ItemKind::kReasoning ? "reasoning"
                     : item.kind == ItemKind::kMessage ? "message"
                                                       : "function_call";
  fmt::format_to(std::back_inserter(out), "{{\"id\":\"{}\",\"type\":\"{}\",\"status\":\"{}\"",
                 item.id, type, status_name(item.status));
  switch (item.kind) {
    case ItemKind::kReasoning:
      append_reasoning(item, carry_reasoning, out);
      break;
    case ItemKind::kMessage:
      out += ",\"role\":\"assistant\"";
      append_content(item, out);
      break;
    case ItemKind::kFunctionCall:
      append_call(item, out);
      break;
  }
  out += '}';
}

void append_part(ItemKind kind, std::string_view text, std::string_view logprobs,
                 std::string& out) {
  out += kind == ItemKind::kReasoning ? "{\"type\":\"reasoning_text\",\"text\":"
                                      : "{\"type\":\"output_text\",\"text\":";
  json::append_quoted(text, out);
  if (kind == ItemKind::kMessage) {
    out += ",\"annotations\":[],\"logprobs\":[";
    out += logprobs;
    out += ']';
  }
  out += '}';
}

}  // namespace deltaserve::responses_api
