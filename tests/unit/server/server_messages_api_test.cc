// Anthropic's Messages over HTTP: streams, ids and the protocol's own error form wherever an error
// arises.
#include <gtest/gtest.h>

#include "server_fixture.h"

namespace deltaserve {
namespace {

class ServerMessagesApiTest : public ServerTest {
 protected:
  static constexpr const char* kPath = "/v1/messages";

  static std::string body(std::string_view fields = "") {
    std::string out = R"({"max_tokens":50,"messages":[{"role":"user","content":"hi"}])";
    out += fields.empty() ? "" : ",";
    out += fields;
    return out + "}";
  }

  // Checks the form of an error and returns its type.
  static std::string error_type(const RawResponse& response, int status) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(response.headers.at("content-type"), "application/json");
    const auto error = json::parse(response.body);
    if (!error || error->at("type") != "error") {
      ADD_FAILURE() << response.body;
      return "";
    }
    EXPECT_FALSE(error->at("error").at("message").get_string().empty());
    EXPECT_EQ(std::string(error->at("request_id").get_string()), response.headers.at("request-id"));
    return std::string(error->at("error").at("type").get_string());
  }
};

TEST_F(ServerMessagesApiTest, AnswersAndStreams) {
  start();
  const RawResponse whole = request("POST", "/v1/messages?beta=true", body());
  ASSERT_EQ(whole.status, 200) << whole.body;
  const auto message = json::parse(whole.body);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->at("type"), "message");
  EXPECT_EQ(message->at("stop_reason"), "end_turn");
  EXPECT_EQ(whole.headers.at("request-id"), whole.headers.at("x-request-id"));
  const RawResponse stream = request("POST", kPath, body(R"("stream":true)"));
  ASSERT_EQ(stream.status, 200);
  EXPECT_TRUE(stream.headers.at("content-type").starts_with("text/event-stream"));
  EXPECT_TRUE(stream.body.starts_with("event: message_start\ndata: {\"type\":\"message_start\""));
  EXPECT_TRUE(stream.body.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
  EXPECT_EQ(stream.body.find("[DONE]"), std::string::npos);
  const RawResponse count = request("POST", "/v1/messages/count_tokens", body());
  EXPECT_EQ(count.status, 200);
  EXPECT_TRUE(count.body.starts_with("{\"input_tokens\":")) << count.body;
}

TEST_F(ServerMessagesApiTest, RefusalsHaveTheProtocolsForm) {
  options_.max_body_bytes = 1000;
  start();
  const std::string large(2000, ' ');
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    EXPECT_EQ(error_type(request("POST", path, "{"), 400), "invalid_request_error");
    EXPECT_EQ(error_type(request("POST", path, body(R"("model":"nope")")), 404), "not_found_error");
    EXPECT_EQ(error_type(request("GET", path), 405), "invalid_request_error");
    EXPECT_EQ(error_type(request("POST", path, large), 413), "request_too_large");
    EXPECT_EQ(error_type(request("POST", path, body(), "Content-Type: text/plain\r\n"), 415),
              "invalid_request_error");
  }
  EXPECT_EQ(error_type(request("POST", kPath, body(R"("stream":true,"max_tokens":100001)")), 400),
            "invalid_request_error");
  EXPECT_EQ(error_code_of(request("POST", "/v1/chat/completions", R"({"model":"nope"})")),
            "model_not_found");
}

TEST_F(ServerMessagesApiTest, EitherHeaderMayHoldTheKey) {
  options_.api_keys = {"right"};
  start();
  EXPECT_EQ(error_type(request("POST", kPath, body()), 401), "authentication_error");
  EXPECT_EQ(error_type(request("POST", kPath, body(), "X-Api-Key: wrong\r\n"), 401),
            "authentication_error");
  EXPECT_EQ(request("POST", kPath, body(), "X-Api-Key: right\r\n").status, 200);
  EXPECT_EQ(request("POST", kPath, body(), "Authorization: Bearer right\r\n").status, 200);
}

TEST_F(ServerMessagesApiTest, TheEnginesErrorsHaveTheProtocolsForm) {
  start();
  for (const char* fields : {"", R"("stream":true)"}) {
    engine_->refuse_with(Error{ErrorCode::kTooManyRequests, "full", "", ""});
    const RawResponse full = request("POST", kPath, body(fields));
    EXPECT_EQ(error_type(full, 429), "rate_limit_error");
    EXPECT_TRUE(full.headers.contains("retry-after"));
    engine_->refuse_with(std::nullopt);
    engine_->fail_with(Error{ErrorCode::kInternal, "broken", "", ""});
    EXPECT_EQ(error_type(request("POST", kPath, body(fields)), 500), "api_error");
    engine_->fail_with(std::nullopt);
  }
  expect_alive();
}

TEST_F(ServerMessagesApiTest, AnErrorInsideAStreamIsAnEvent) {
  options_.sse_keep_alive = std::chrono::milliseconds(20);
  start();
  engine_->hold(true);
  RawClient client(server_->port());
  client.send(http_request("POST", kPath, body(R"("stream":true)")));
  EXPECT_FALSE(client.read_until(": keep-alive").empty());
  engine_->fail_with(Error{ErrorCode::kInternal, "broken", "", ""});
  engine_->hold(false);
  const std::string rest = client.read_until("\"broken\"},\"request_id\":\"");
  EXPECT_NE(rest.find("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""),
            std::string::npos)
      << rest;
}

TEST_F(ServerMessagesApiTest, LoadingIsOverload) {
  start(false);
  EXPECT_EQ(error_type(request("POST", kPath, body()), 503), "overloaded_error");
}

}  // namespace
}  // namespace deltaserve
