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
  EXPECT_EQ(response.headers.at("connection"), "close");
  error_code_of(response);
  EXPECT_NE(request("GET", "/metrics").body.find("{route=\"/v1/completions\",status=\"413\"} 1"),
            std::string::npos);
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
  options_.idle_timeout = milliseconds(1000);
  start();
  RawClient fresh(server_->port());
  EXPECT_TRUE(fresh.closed());
  RawClient used(server_->port());
  used.send(http_request("GET", "/health"));
  EXPECT_EQ(used.read_response().status, 200);
  EXPECT_TRUE(used.closed());
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
  EXPECT_TRUE(body.closed());
}

// Bytes that come regularly move no deadline.
TEST_F(ServerLimitsTest, GivesUpOnTricklingHeadersAndBodies) {
  options_.header_timeout = milliseconds(500);
  options_.body_timeout = milliseconds(500);
  start();
  const std::string long_line = "GET /health HTTP/1.1\r\nX: " + std::string(1000, 'x');
  const std::string long_body =
      "POST /v1/completions HTTP/1.1\r\nHost: t\r\n"
      "Content-Length: 1000\r\n\r\n" +
      std::string(900, ' ');
  const std::string long_chunk =
      "POST /v1/completions HTTP/1.1\r\nHost: t\r\n"
      "Transfer-Encoding: chunked\r\n\r\n1;" +
      std::string(900, 'x');
  for (const std::string& bytes : {long_line, long_body, long_chunk}) {
    RawClient client(server_->port());
    const size_t head = bytes.size() - 800;
    client.send(bytes.substr(0, head));
    size_t sent = head;
    while (sent < bytes.size() && !client.closed_within(milliseconds(10))) {
      client.send(bytes.substr(sent++, 1));
    }
    EXPECT_LT(sent, bytes.size());
    EXPECT_EQ(client.read_response().status, 408);
  }
  expect_alive();
}

TEST_F(ServerLimitsTest, GivesUpOnAReaderThatTakesNothing) {
  options_.write_timeout = milliseconds(200);
  start();
  RawClient client(server_->port());
  client.set_receive_buffer(4096);
  std::string body = R"({"echo":true,"n":128,"max_tokens":5,"prompt":")";
  for (int i = 0; i < 17'000; ++i) {
    body += "hello ";  // 128 times: more than sockets buffer
  }
  client.send(http_request("POST", "/v1/completions", body + "\"}"));
  ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == 1; }));
  EXPECT_TRUE(wait_until([&] {
    return request("GET", "/metrics").body.find("deltaserve:http_connections{} 1") !=
           std::string::npos;
  }));
}

TEST_F(ServerLimitsTest, LimitsTheBodiesOfAllConnectionsTogether) {
  options_.max_total_body_bytes = 100'000;
  options_.body_timeout = std::chrono::minutes(10);
  start();
  const std::string head = "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: ";
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 2; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->send(head + "60000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(slow.back()->read_response().status, 100);  // there is room for either alone
  }
  for (const auto& client : slow) {
    client->send("{" + std::string(45'000, ' '));
  }
  const auto announce = [&] {
    RawClient client(server_->port());
    client.send(head + "20000\r\nExpect: 100-continue\r\n\r\n");
    return client.read_response();
  };
  ASSERT_TRUE(wait_until([&] { return announce().status == 503; }));  // both have been read
  const RawResponse refused = announce();
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  error_code_of(refused);
  const std::string large = R"("user":")" + std::string(20'000, 'x') + '"';
  EXPECT_EQ(chat(large).status, 503);
  {
    RawClient chunked(server_->port());
    chunked.send(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n"
        "\r\n5000\r\n" +
        std::string(0x5000, ' '));
    EXPECT_EQ(chunked.read_response().status, 503);
  }
  EXPECT_EQ(chat().status, 200);  // a small one fits beside them
  slow[0]->close();
  ASSERT_TRUE(wait_until([&] { return announce().status == 100; }));
  EXPECT_EQ(chat(large).status, 200);
  slow[1]->send(std::string(60'000 - 45'001 - 1, ' ') + "}");
  EXPECT_EQ(slow[1]->read_response().status, 400);  // an empty object
  for (int i = 0; i < 50; ++i) {                    // nothing is held for good
    EXPECT_EQ(chat(R"("user":")" + std::string(60'000, 'x') + '"').status, 200);
  }
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
    const RawResponse refused = third.read_response();
    EXPECT_EQ(refused.status, 503);
    error_code_of(refused);
    EXPECT_TRUE(third.closed());
  }
  first.close();
  ASSERT_TRUE(wait_until([&] {
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
  EXPECT_TRUE(wait_until([&] { return engine_->num_aborted() == 1; }));
  EXPECT_EQ(engine_->num_running(), 0U);
  max_repeats_ = 1;
  expect_alive();
}

}  // namespace
}  // namespace deltaserve
