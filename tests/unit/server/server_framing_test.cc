// Requests and responses on the wire: keep-alive, pipelining, chunks, Expect, HEAD, HTTP/1.0.
#include <gtest/gtest.h>

#include "server_fixture.h"

namespace deltaserve {
namespace {

using ServerFramingTest = ServerTest;

TEST_F(ServerFramingTest, KeepsTheConnectionForTheNextRequest) {
  start();
  RawClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
    const RawResponse streamed = client.read_response();
    EXPECT_EQ(streamed.status, 200);
    EXPECT_EQ(streamed.headers.at("connection"), "keep-alive");
    EXPECT_EQ(text_of(streamed), answer_);
    client.send(http_request("GET", "/health"));
    EXPECT_EQ(client.read_response().status, 200);
  }
}

TEST_F(ServerFramingTest, AnswersPipelinedRequestsInOrder) {
  start();
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")) +
              http_request("GET", "/version") +
              http_request("POST", "/v1/chat/completions", chat_body()) +
              http_request("GET", "/nowhere") + http_request("GET", "/health"));
  EXPECT_EQ(text_of(client.read_response()), answer_);
  EXPECT_EQ(client.read_response().body, R"({"version":"9.9.9"})");
  EXPECT_EQ(text_of(client.read_response()), answer_);
  EXPECT_EQ(client.read_response().status, 404);
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(ServerFramingTest, TakesARequestByteByByte) {
  start();
  RawClient client(server_->port());
  for (const char c : "\r\n" + http_request("POST", "/v1/chat/completions", chat_body())) {
    client.send(std::string_view(&c, 1));
  }
  EXPECT_EQ(text_of(client.read_response()), answer_);
}

TEST_F(ServerFramingTest, TakesChunkedBodies) {
  start();
  RawClient client(server_->port());
  const std::string body = chat_body();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
      "Content-Type: application/json; charset=utf-8\r\n\r\n5\r\n" +
      body.substr(0, 5) + "\r\n");
  client.send("1;ext=1\r\n" + body.substr(5, 1) + "\r\n");
  char size[16];
  std::snprintf(size, sizeof(size), "%zx\r\n", body.size() - 6);
  client.send(size + body.substr(6) + "\r\n0\r\nTrailer: x\r\n\r\n" +
              http_request("GET", "/health"));
  EXPECT_EQ(text_of(client.read_response()), answer_);
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(ServerFramingTest, SaysContinueBeforeTheBody) {
  start();
  RawClient client(server_->port());
  const std::string body = chat_body();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(body);
  EXPECT_EQ(text_of(client.read_response()), answer_);
  client.send(
      "POST /nowhere HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\n"
      "Content-Length: 10\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 404);
}

TEST_F(ServerFramingTest, HeadHasTheHeadOfGet) {
  start();
  const RawResponse head = request("HEAD", "/health");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"),
            std::to_string(request("GET", "/health").body.size()));
}

TEST_F(ServerFramingTest, SpeaksHttp10WithoutChunks) {
  start();
  RawClient client(server_->port());
  const std::string body = chat_body(R"("stream":true)");
  client.send("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.headers.contains("transfer-encoding"));
  EXPECT_EQ(text_of(response), answer_);
}

TEST_F(ServerFramingTest, AnAnswerIsStillSentWhenTheClientHasFinishedSending) {
  start();
  RawClient client(server_->port());
  client.send(http_request("GET", "/version"));
  client.shutdown_write();
  EXPECT_EQ(client.read_response().status, 200);
}

// A client that sends no more may be one that has left, and cannot be told from it.
TEST_F(ServerFramingTest, AHalfClosedConnectionAbortsAGeneration) {
  max_repeats_ = 100'000;
  start();
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(client.read_until("data: "), "");
  client.shutdown_write();
  EXPECT_TRUE(client.closed());
  EXPECT_TRUE(wait_until([&] { return engine_->num_aborted() == 1; }));
}

TEST_F(ServerFramingTest, AnErrorIsStillSentWhenTheClientHasFinishedSending) {
  start();
  RawClient client(server_->port());
  client.send("GET /health");
  client.shutdown_write();
  EXPECT_TRUE(client.closed());
  RawClient junk(server_->port());
  junk.send("junk\r\n\r\n");
  junk.shutdown_write();
  EXPECT_EQ(junk.read_response().status, 400);
}

TEST_F(ServerFramingTest, RefusesWhatIsNotHttpAndLivesOn) {
  start();
  const std::pair<std::string, int> cases[] = {
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
      {"GET /health\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\nHost: t\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\n\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: t\r\nBad Header: x\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
       400},
      {"POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"POST /v1/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /v1/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"GET /health HTTP/1.1\r\nHost: t\r\nExpect: magic\r\n\r\n", 417},
  };
  for (const auto& [bytes, status] : cases) {
    RawClient client(server_->port());
    client.send(bytes);
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, status) << bytes;
    EXPECT_EQ(response.headers.at("connection"), "close") << bytes;
    error_code_of(response);
    EXPECT_TRUE(client.closed()) << bytes;
  }
  expect_alive();
}

}  // namespace
}  // namespace deltaserve
