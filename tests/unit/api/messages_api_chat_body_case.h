// Anthropic request bodies and what chat_body makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/messages_api_chat_body.h"

namespace deltaserve::messages_api {

class ChatBodyTest : public testing::Test {
 protected:
  static json::Object parse(std::string_view text) {
    auto value = json::parse(text);
    EXPECT_TRUE(value) << text;
    return value ? value->get_object() : json::Object();
  }

  static std::string body(std::string_view messages, std::string_view fields = "") {
    std::string out = R"({"max_tokens":9,"messages":[)" + std::string(messages) + "]";
    out += fields.empty() ? "" : ",";
    out += fields;
    return out + "}";
  }

  static constexpr std::string_view kUser = R"({"role":"user","content":"hi"})";

  static json::Object fields_of(std::string_view request) {
    auto result = chat_body(parse(request));
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->fields : json::Object();
  }

  static std::string messages_of(std::string_view messages, std::string_view fields = "") {
    return json::serialize(fields_of(body(messages, fields))["messages"]);
  }

  static Error error_of(std::string_view request) {
    const auto result = chat_body(parse(request));
    EXPECT_FALSE(result) << request;
    return result ? Error{} : result.error();
  }
};

}  // namespace deltaserve::messages_api
