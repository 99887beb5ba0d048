// See stream_reader.h.
#include "stream_reader.h"

#include <gtest/gtest.h>

namespace deltaserve {
namespace {

std::string text_at(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value == nullptr ? "" : std::string(value->as_string());
}

void read_call(const json::Value& value, StreamedChoice& out) {
  const json::Object& call = value.as_object();
  const auto index = call.at("index").to_number<size_t>();
  const json::Object& function = call.at("function").as_object();
  if (index == out.calls.size()) {
    EXPECT_EQ(call.size(), 4U);
    EXPECT_EQ(call.at("type"), "function");
    EXPECT_EQ(function.size(), 2U);
    EXPECT_EQ(function.at("arguments"), "");
    out.calls.push_back({text_at(call, "id"), text_at(function, "name"), ""});
    EXPECT_TRUE(out.calls.back().id.starts_with("call_"));
    EXPECT_FALSE(out.calls.back().name.empty());
    return;
  }
  ASSERT_LT(index, out.calls.size());
  EXPECT_EQ(call.size(), 2U);
  EXPECT_EQ(function.size(), 1U);
  EXPECT_FALSE(text_at(function, "arguments").empty());
  out.calls[index].arguments += text_at(function, "arguments");
  ++out.num_argument_deltas;
}

void read_delta(const json::Object& delta, StreamedChoice& out) {
  EXPECT_EQ(text_at(delta, "reasoning_content"), text_at(delta, "reasoning"));
  out.reasoning += text_at(delta, "reasoning_content");
  const std::string content = text_at(delta, "content");
  out.content += content;
  if (!content.empty()) {
    out.content_deltas.push_back(content);
  }
  if (const json::Value* calls = delta.if_contains("tool_calls")) {
    EXPECT_EQ(calls->as_array().size(), 1U);
    for (const json::Value& call : calls->as_array()) {
      read_call(call, out);
    }
  }
}

void append_list(const json::Value* list, json::Array& out) {
  if (list != nullptr) {
    out.insert(out.end(), list->as_array().begin(), list->as_array().end());
  }
}

}  // namespace

StreamedChoice read_choice(const std::vector<json::Object>& chunks, int64_t index) {
  StreamedChoice out;
  bool begun = false;
  for (const json::Object& chunk : chunks) {
    for (const json::Value& value : chunk.at("choices").as_array()) {
      const json::Object& choice = value.as_object();
      if (choice.at("index") != index) {
        continue;
      }
      EXPECT_TRUE(out.finish_reason.empty()) << "a chunk behind the finish reason";
      const json::Object& delta = choice.at("delta").as_object();
      EXPECT_EQ(delta.contains("role"), !begun);
      EXPECT_TRUE(begun || delta.at("role") == "assistant");
      begun = true;
      read_delta(delta, out);
      if (choice.at("logprobs").is_object()) {
        append_list(&choice.at("logprobs").at("content"), out.logprobs);
      }
      append_list(choice.if_contains("token_ids"), out.token_ids);
      if (!choice.at("finish_reason").is_null()) {
        EXPECT_TRUE(delta.empty());
        out.finish_reason = text_at(choice, "finish_reason");
        out.stop_reason = choice.at("stop_reason");
      }
    }
  }
  EXPECT_FALSE(out.finish_reason.empty());
  return out;
}

void expect_same(const StreamedChoice& streamed, const json::Object& choice) {
  const json::Object& message = choice.at("message").as_object();
  EXPECT_EQ(message.at("role"), "assistant");
  EXPECT_EQ(text_at(choice, "finish_reason"), streamed.finish_reason);
  EXPECT_EQ(choice.at("stop_reason"), streamed.stop_reason);
  EXPECT_EQ(text_at(message, "reasoning_content"), streamed.reasoning);
  EXPECT_EQ(text_at(message, "reasoning"), streamed.reasoning);
  const json::Value* calls = message.if_contains("tool_calls");
  const bool only_calls = calls != nullptr && streamed.content.empty();
  EXPECT_EQ(message.at("content").is_null(), only_calls);
  if (!only_calls) {
    EXPECT_EQ(text_at(message, "content"), streamed.content);
  }
  size_t num_whole = 0;
  for (const StreamedChoice::Call& call : streamed.calls) {
    if (calls == nullptr || num_whole == calls->as_array().size()) {
      break;
    }
    const json::Object& whole = calls->as_array()[num_whole].as_object();
    const json::Object& function = whole.at("function").as_object();
    if (text_at(function, "name") != call.name ||
        text_at(function, "arguments") != call.arguments) {
      continue;
    }
    EXPECT_TRUE(text_at(whole, "id").starts_with("call_"));
    EXPECT_EQ(whole.at("type"), "function");
    EXPECT_TRUE(json::parse(call.arguments)) << call.arguments;
    ++num_whole;
  }
  EXPECT_EQ(calls == nullptr ? 0 : calls->as_array().size(), num_whole);
  if (streamed.finish_reason != "length") {
    EXPECT_EQ(num_whole, streamed.calls.size());
  }
  const json::Value& logprobs = choice.at("logprobs");
  EXPECT_EQ(logprobs.is_null() ? json::Array{} : logprobs.at("content").as_array(),
            streamed.logprobs);
}

}  // namespace deltaserve
