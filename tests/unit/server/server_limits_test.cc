// Limits of size, time and number.
#include <gtest/gtest.h>

#include <vector>

#include "server_fixture.h"

namespace deltaserve {
namespace {

using std::chrono::milliseconds;
using ServerLimitsTest = ServerTest;

TEST_F(ServerLimitsTest, RefusesALargeBodyByItsAnnouncement) {
  options_.max_body_bytes = 1000;
  start();
  RawClient client(server_->port());
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: t\r\nOrigin: http://a\r\n"
      "Content-Length: 200000000\r\n\r\n");
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.headers.at("access-control-allow-origin"), "*");
  error_code_of(response);
  expect_alive();
}

TEST_F(ServerLimitsTest, RefusesALargeBodyThatIsSentAllTheSame) {
  options_.max_body_bytes = 1000;
  start();
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/completions", std::string(20'000'000, 'x')));
  EXPECT_EQ(client.read_response().status, 413);
  expect_alive();
}

TEST_F(ServerLimitsTest, RefusesAChunkedBodyOnceItIsTooLarge) {
  options_.max_body_bytes = 1000;
  start();
  RawClient client(server_->port());
  client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) {
    client.send("200\r\n" + std::string(512, 'x') + "\r\n");
  }
  EXPECT_EQ(client.read_response().status, 413);
}

TEST_F(ServerLimitsTest, RefusesALargeHeader) {
  options_.max_header_bytes = 2000;
  start();
  EXPECT_EQ(request("GET", "/health", "", "X-Long: " + std::string(5000, 'x') + "\r\n").status,
            431);
  expect_alive();
}

TEST_F(ServerLimitsTest, RefusesDeepJson) {
  start();
  EXPECT_EQ(request("POST", "/v1/chat/completions", std::string(100'000, '[')).status, 400);
  std::string nested = R"({"messages":)";
  for (int i = 0; i < 100'000; ++i) {
    nested += R"({"a":)";
  }
  EXPECT_EQ(request("POST", "/v1/chat/completions", nested).status, 400);
  expect_alive();
}

TEST_F(ServerLimitsTest, ClosesIdleConnections) {
  options_.idle_timeout = milliseconds(100);
  start();
  RawClient fresh(server_->port());
  EXPECT_TRUE(fresh.closed_within(milliseconds(3000)));
  RawClient used(server_->port());
  used.send(http_request("GET", "/health"));
  EXPECT_EQ(used.read_response().status, 200);
  EXPECT_TRUE(used.closed_within(milliseconds(3000)));
}

TEST_F(ServerLimitsTest, GivesUpOnSlowHeadersAndBodies) {
  options_.header_timeout = milliseconds(150);
  options_.body_timeout = milliseconds(150);
  start();
  RawClient header(server_->port());
  header.send("GET /health HT");
  EXPECT_EQ(header.read_response().status, 408);
  RawClient body(server_->port());
  body.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(body.read_response().status, 408);
  EXPECT_TRUE(body.closed_within(milliseconds(5000)));
}

TEST_F(ServerLimitsTest, LimitsTheNumberOfConnections) {
  options_.max_connections = 2;
  start();
  RawClient first(server_->port());
  RawClient second(server_->port());
  first.send(http_request("GET", "/health"));
  EXPECT_EQ(first.read_response().status, 200);
  second.send(http_request("GET", "/health"));
  EXPECT_EQ(second.read_response().status, 200);
  {
    RawClient third(server_->port());
    EXPECT_TRUE(third.closed_within(milliseconds(5000)));
  }
  first.close();
  ASSERT_TRUE(engine_->wait([&] {
    RawClient again(server_->port());
    again.send(http_request("GET", "/health"));
    return again.read_response().status == 200;
  }));
}

TEST_F(ServerLimitsTest, ASlowReaderLosesItsSequence) {
  options_.max_outbox_bytes = 20'000;
  max_repeats_ = 4'000;
  start();
  RawClient client(server_->port());
  client.set_receive_buffer(4096);
  client.send(http_request("POST", "/v1/chat/completions",
                           chat_body(R"("stream":true,"n":20,"max_tokens":90000)")));
  EXPECT_NE(client.read_until("data: "), "");
  EXPECT_TRUE(engine_->wait([&] { return engine_->num_aborted() == 1; }));
  EXPECT_EQ(engine_->num_running(), 0U);
  max_repeats_ = 1;
  expect_alive();
}

}  // namespace
}  // namespace deltaserve
