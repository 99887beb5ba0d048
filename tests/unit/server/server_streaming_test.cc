// Generations through the whole server: streams, many at once, errors of the engine.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server_fixture.h"

namespace deltaserve {
namespace {

using ServerStreamingTest = ServerTest;

size_t count(std::string_view text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_F(ServerStreamingTest, StreamsEvents) {
  start();
  const RawResponse response = chat(R"("stream":true,"stream_options":{"include_usage":true})");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.headers.at("content-type").starts_with("text/event-stream"));
  EXPECT_EQ(response.headers.at("transfer-encoding"), "chunked");
  EXPECT_GE(count(response.body, "data: "), 5U);
  EXPECT_EQ(count(response.body, "[DONE]"), 1U);
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(count(response.body, "\"completion_tokens\""), 1U);
  EXPECT_EQ(text_of(response), answer_);
}

TEST_F(ServerStreamingTest, ManyChoicesAreOneStream) {
  start();
  const RawResponse response = chat(R"("stream":true,"n":100)");
  EXPECT_EQ(count(response.body, "\"role\":\"assistant\""), 100U);
  EXPECT_EQ(count(response.body, "\"finish_reason\":\"stop\""), 100U);
  EXPECT_EQ(count(response.body, "[DONE]"), 1U);
  EXPECT_EQ(text_of(response).size(), answer_.size() * 100);
}

TEST_F(ServerStreamingTest, AStopStringAbortsOnlyItsChoice) {
  max_repeats_ = 10'000;  // the engine would go on for long
  start();
  const RawResponse response = chat(R"("n":3,"stop":"three")");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(text_of(response), "one two ");
  EXPECT_TRUE(wait_until([&] { return engine_->num_running() == 0; }));
  EXPECT_EQ(engine_->num_aborted_choices(), 3U);
}

TEST_F(ServerStreamingTest, ManyStreamsAtOnceDoNotMix) {
  start();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      RawClient client(server_->port());
      for (int k = 0; k < 5; ++k) {
        client.send(http_request("POST", "/v1/chat/completions",
                                 chat_body((i + k) % 2 == 0 ? R"("stream":true)" : "")));
        good += text_of(client.read_response()) == answer_ ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 160);
}

TEST_F(ServerStreamingTest, AnEngineErrorBeforeTheStreamIsAStatus) {
  start();
  engine_->fail_with(Error{ErrorCode::kInternal, "non-finite logit", "", ""});
  for (const char* stream : {"", R"("stream":true)"}) {
    const RawResponse response = chat(stream);
    EXPECT_EQ(response.status, 500);
    EXPECT_NE(response.body.find("non-finite logit"), std::string::npos);
    EXPECT_EQ(response.headers.at("connection"), "keep-alive");
  }
  engine_->fail_with(std::nullopt);
  expect_alive();
}

TEST_F(ServerStreamingTest, AnEngineErrorWithinAStreamIsAnEvent) {
  max_repeats_ = 10'000;
  start();
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(client.read_until("\"content\":\"one"), "");
  engine_->fail_with(Error{ErrorCode::kInternal, "device lost", "", ""});
  EXPECT_NE(client.read_until("data: {\"error\":{\"message\":\"device lost\""), "");
  EXPECT_NE(client.read_until("data: [DONE]\n\n\r\n0\r\n\r\n"), "");
  engine_->fail_with(std::nullopt);
  client.send(http_request("GET", "/health"));
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(ServerStreamingTest, RefusalsOfTheEngineReachTheClient) {
  start();
  engine_->refuse_with(Error{ErrorCode::kTooManyRequests, "the queue is full", "", ""});
  const RawResponse full = chat(R"("stream":true)");
  EXPECT_EQ(full.status, 429);
  EXPECT_TRUE(full.headers.contains("retry-after"));
  engine_->refuse_with(std::nullopt);
  expect_alive();
}

TEST_F(ServerStreamingTest, CompletionsOfSeveralPromptsComeTogether) {
  start();
  const RawResponse response =
      request("POST", "/v1/completions", R"({"prompt":["a","b","c"],"max_tokens":50})");
  EXPECT_EQ(response.status, 200);
  const auto body = json::parse(response.body);
  ASSERT_TRUE(body);
  ASSERT_EQ(body->at("choices").get_array().size(), 3U);
  for (const json::Value& choice : body->at("choices").get_array()) {
    EXPECT_EQ(std::string(choice.at("text").get_string()), answer_);
  }
}

TEST_F(ServerStreamingTest, KeepAliveCommentsComeWhileNothingElseDoes) {
  options_.sse_keep_alive = std::chrono::milliseconds(20);
  start();
  engine_->hold(true);
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(client.read_until(": keep-alive\n\n"), "");
  EXPECT_NE(client.read_until(": keep-alive\n\n"), "");
  engine_->hold(false);
  EXPECT_NE(client.read_until("data: [DONE]\n\n"), "");
}

}  // namespace
}  // namespace deltaserve
