// Events and bodies of /v1/messages.
#include "api/messages_api_response.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "api/messages_api_error.h"
#include "api/messages_api_signature.h"
#include "base/check.h"
#include "json/json.h"

namespace deltaserve::messages_api {
namespace {

// `event: NAME` and the object's beginning; end_event writes the rest.
void begin_event(std::string_view name, std::string& out) {
  fmt::format_to(std::back_inserter(out), "event: {}\ndata: {{\"type\":\"{}\"", name, name);
}

void end_event(std::string& out) {
  out += "}\n\n";
}

// As Anthropic counts: input_tokens are those that no cache held.
void append_usage(const Usage& usage, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 ",\"usage\":{{\"input_tokens\":{},\"cache_creation_input_tokens\":0,"
                 "\"cache_read_input_tokens\":{},\"output_tokens\":{},"
                 "\"output_tokens_details\":{{\"thinking_tokens\":{}}}}}",
                 usage.prompt_tokens - usage.cached_tokens, usage.cached_tokens,
                 usage.completion_tokens, usage.reasoning_tokens);
}

void append_head(const ResponseOptions& options, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 R"("id":"{}","type":"message","role":"assistant","model":)", options.id);
  json::append_quoted(options.model, out);
}

std::string_view stop_reason(const ChoiceEnd& end) {
  switch (end.finish) {
    case ChoiceFinish::kLength:
      return "max_tokens";
    case ChoiceFinish::kToolCalls:
      return "tool_use";
    case ChoiceFinish::kStop:
      break;
  }
  return std::holds_alternative<std::string>(end.stop_reason) ? "stop_sequence" : "end_turn";
}

void append_stop(const ChoiceEnd& end, std::string& out) {
  const std::string_view reason = stop_reason(end);
  fmt::format_to(std::back_inserter(out), "\"stop_reason\":\"{}\",\"stop_sequence\":", reason);
  if (reason == "stop_sequence") {
    json::append_quoted(std::get<std::string>(end.stop_reason), out);
  } else {
    out += "null";
  }
}

// A block of the whole answer.
struct Block {
  OutputEvent::Kind kind = OutputEvent::Kind::kContent;
  std::string text;  // or the call's arguments
  std::string id;
  std::string name;
  bool whole = true;
};

std::vector<Block> blocks_of(const std::vector<OutputEvent>& events) {
  using Kind = OutputEvent::Kind;
  std::vector<Block> blocks;
  for (const OutputEvent& event : events) {
    switch (event.kind) {
      case Kind::kReasoning:
      case Kind::kContent:
        if (blocks.empty() || blocks.back().kind != event.kind) {
          blocks.push_back({event.kind, {}, {}, {}, true});
        }
        blocks.back().text += event.text;
        break;
      case Kind::kToolCallBegin:
        blocks.push_back({event.kind, {}, event.id, event.name, false});
        break;
      case Kind::kArguments:
        blocks.back().text += event.text;
        break;
      case Kind::kToolCallEnd:
        blocks.back().whole = true;
        break;
    }
  }
  return blocks;
}

bool is_object(std::string_view text) {
  const Result<json::Value> value = json::parse(text);
  return value && value->is_object();
}

// "call_..." as Anthropic spells it.
std::string tool_use_id(std::string_view id) {
  constexpr std::string_view kPrefix = "call_";
  return fmt::format("toolu_{}", id.starts_with(kPrefix) ? id.substr(kPrefix.size()) : id);
}

void append_thinking(const std::string& thought, bool omit, std::string& out) {
  out += R"({"type":"thinking","thinking":)";
  json::append_quoted(omit ? std::string_view() : thought, out);
  out += ",\"signature\":";
  json::append_quoted(omit ? signature_with(thought) : signature_of(thought), out);
  out += '}';
}

void append_tool_use(const Block& block, std::string& out) {
  out += R"({"type":"tool_use","id":)";
  json::append_quoted(tool_use_id(block.id), out);
  out += ",\"name\":";
  json::append_quoted(block.name, out);
  out += ",\"input\":";
  out += block.text;
  out += '}';
}

void append_block(const Block& block, bool omit_thinking, std::string& out) {
  if (block.kind == OutputEvent::Kind::kReasoning) {
    append_thinking(block.text, omit_thinking, out);
  } else if (block.kind == OutputEvent::Kind::kContent) {
    out += R"({"type":"text","text":)";
    json::append_quoted(block.text, out);
    out += '}';
  } else {
    append_tool_use(block, out);
  }
}

}  // namespace

void MessagesResponse::start_choice(int32_t /*index*/, const PromptInfo& /*prompt*/,
                                    const Usage& usage, std::string& out) {
  begin_event("message_start", out);
  out += ",\"message\":{";
  append_head(*options_, out);
  out += R"(,"content":[],"stop_reason":null,"stop_sequence":null)";
  append_usage(usage, out);
  out += '}';
  end_event(out);
}

void MessagesResponse::append_delta(int32_t /*index*/, const ChoiceDelta& delta,
                                    const Usage& /*usage*/, std::string& out) {
  for (const OutputEvent& event : delta.events) {
    append_event(event, out);
  }
}

void MessagesResponse::append_event(const OutputEvent& event, std::string& out) {
  const auto append_piece = [&](std::string_view type, std::string_view key) {
    begin_event("content_block_delta", out);
    fmt::format_to(std::back_inserter(out), R"(,"index":{},"delta":{{"type":"{}","{}":)",
                   num_blocks_, type, key);
    json::append_quoted(event.text, out);
    out += '}';
    end_event(out);
  };
  switch (event.kind) {
    case OutputEvent::Kind::kReasoning:
      enter(Open::kThinking, out);
      thought_ += event.text;
      if (!omit_thinking_) {
        append_piece("thinking_delta", "thinking");
      }
      return;
    case OutputEvent::Kind::kContent:
      enter(Open::kText, out);
      append_piece("text_delta", "text");
      return;
    case OutputEvent::Kind::kToolCallBegin:
      open_tool(event, out);
      return;
    case OutputEvent::Kind::kArguments:
      DS_CHECK(open_ == Open::kToolUse);
      append_piece("input_json_delta", "partial_json");
      return;
    case OutputEvent::Kind::kToolCallEnd:
      close_block(out);
      return;
  }
}

void MessagesResponse::enter(Open kind, std::string& out) {
  if (open_ == kind) {
    return;
  }
  close_block(out);
  open_ = kind;
  begin_event("content_block_start", out);
  fmt::format_to(std::back_inserter(out), ",\"index\":{},\"content_block\":{}", num_blocks_,
                 kind == Open::kThinking ? R"({"type":"thinking","thinking":"","signature":""})"
                                         : R"({"type":"text","text":""})");
  end_event(out);
}

void MessagesResponse::open_tool(const OutputEvent& event, std::string& out) {
  close_block(out);
  open_ = Open::kToolUse;
  begin_event("content_block_start", out);
  fmt::format_to(std::back_inserter(out), ",\"index\":{},\"content_block\":", num_blocks_);
  append_tool_use({event.kind, "{}", event.id, event.name, true}, out);
  end_event(out);
}

void MessagesResponse::close_block(std::string& out) {
  const Open open = std::exchange(open_, Open::kNothing);
  if (open == Open::kNothing) {
    return;
  }
  if (open == Open::kThinking) {
    const std::string thought = std::exchange(thought_, {});
    begin_event("content_block_delta", out);
    fmt::format_to(std::back_inserter(out),
                   R"(,"index":{},"delta":{{"type":"signature_delta","signature":)", num_blocks_);
    json::append_quoted(omit_thinking_ ? signature_with(thought) : signature_of(thought), out);
    out += '}';
    end_event(out);
  }
  begin_event("content_block_stop", out);
  fmt::format_to(std::back_inserter(out), ",\"index\":{}", num_blocks_);
  end_event(out);
  ++num_blocks_;
}

void MessagesResponse::end_choice(int32_t /*index*/, const ChoiceEnd& end,
                                  const ChoiceDelta& /*rest*/, const Usage& usage,
                                  std::string& out) {
  close_block(out);
  begin_event("message_delta", out);
  out += ",\"delta\":{";
  append_stop(end, out);
  out += '}';
  append_usage(usage, out);
  end_event(out);
}

void MessagesResponse::end_stream(const Usage& /*usage*/, std::string& out) {
  begin_event("message_stop", out);
  end_event(out);
}

void MessagesResponse::append_error(const Error& error, std::string& out) {
  out += "event: error\ndata: ";
  out += messages_api::error_body(error, options_->request_id);
  out += "\n\n";
}

std::string MessagesResponse::body(const std::vector<CollectedChoice>& choices,
                                   const Usage& usage) {
  const CollectedChoice& choice = choices.front();
  std::string out = "{";
  append_head(*options_, out);
  out += ",\"content\":[";
  bool first = true;
  for (const Block& block : blocks_of(choice.sum.events)) {
    const bool is_call = block.kind == OutputEvent::Kind::kToolCallBegin;
    if (is_call && (!block.whole || !is_object(block.text))) {
      continue;
    }
    out += std::exchange(first, false) ? "" : ",";
    append_block(block, omit_thinking_, out);
  }
  out += "],";
  append_stop(choice.end, out);
  append_usage(usage, out);
  out += '}';
  return out;
}

std::string MessagesResponse::error_body(const Error& error) const {
  return messages_api::error_body(error, options_->request_id);
}

}  // namespace deltaserve::messages_api
