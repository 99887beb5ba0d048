// The salt's and the name's limits, and the places where a prompt's messages begin.
#include "api/cache_fields.h"

#include <gtest/gtest.h>

#include "api/chat_request.h"
#include "api/completion_request.h"
#include "api_fixture.h"

namespace deltaserve {
namespace {

using CacheFieldsTest = ApiTest;

TEST_F(CacheFieldsTest, ReadsTheSalt) {
  const auto job = parse_chat_request(*context_, object(chat(R"("cache_salt":"alice")")));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->requests.at(0).cache_salt, "alice");
  const auto plain = parse_chat_request(*context_, object(chat(R"("n":1)")));
  EXPECT_EQ(plain->requests.at(0).cache_salt, "");
  const auto text =
      parse_completion_request(*context_, object(completion(R"("cache_salt":"bob")")));
  EXPECT_EQ(text->requests.at(0).cache_salt, "bob");
}

TEST_F(CacheFieldsTest, RefusesASaltThatIsNone) {
  const std::string longest = R"("cache_salt":")" + std::string(1025, 'x') + '"';
  for (const std::string& fields :
       {std::string(R"("cache_salt":"")"), std::string(R"("cache_salt":5)"), longest}) {
    EXPECT_EQ(chat_error(chat(fields)).param, "cache_salt");
    EXPECT_EQ(completion_error(completion(fields)).param, "cache_salt");
  }
}

TEST_F(CacheFieldsTest, ReadsTheNameOfThePrefix) {
  const auto job = parse_chat_request(*context_, object(chat(R"("prompt_cache_key":"agent")")));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->requests.at(0).cache_name, "agent");
  const auto text =
      parse_completion_request(*context_, object(completion(R"("prompt_cache_key":"k")")));
  EXPECT_EQ(text->requests.at(0).cache_name, "k");
  for (const char* fields :
       {R"("n":1)", R"("prompt_cache_key":null)", R"("prompt_cache_key":"")"}) {
    EXPECT_EQ(parse_chat_request(*context_, object(chat(fields)))->requests.at(0).cache_name, "");
  }
  const std::string longest = R"("prompt_cache_key":")" + std::string(1025, 'x') + '"';
  for (const std::string& fields : {std::string(R"("prompt_cache_key":5)"), longest}) {
    EXPECT_EQ(chat_error(chat(fields)).param, "prompt_cache_key");
  }
  const auto responses = service_.responses(R"({"input":"hi","prompt_cache_key":"r"})");
  ASSERT_TRUE(responses);
  EXPECT_EQ(responses->job.requests.at(0).cache_name, "r");
}

TEST_F(CacheFieldsTest, MessagesOfAPromptBeginAtControlTokens) {
  const auto job = parse_chat_request(*context_, object(R"({"model":"tiny","messages":[
      {"role":"system","content":"Be <|im_start|> brief."},
      {"role":"user","content":"hi"}]})"));
  ASSERT_TRUE(job.has_value());
  const Request& request = job->requests.at(0);
  ASSERT_EQ(request.cache_borders.size(), 3U) << "system, user and the answer's header";
  EXPECT_EQ(request.cache_borders[0], 0);
  const int32_t start = context_->tokenizer->token_to_id("<|im_start|>").value();
  for (const int64_t border : request.cache_borders) {
    EXPECT_EQ(request.prompt_token_ids.at(static_cast<size_t>(border)), start);
  }
  EXPECT_GT(request.cache_borders[2] + 10, static_cast<int64_t>(request.prompt_token_ids.size()));
}

}  // namespace
}  // namespace deltaserve
