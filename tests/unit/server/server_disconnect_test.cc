// Clients that go away in every phase, and the server going away in an orderly manner.
#include <gtest/gtest.h>

#include <thread>

#include "server_fixture.h"

namespace deltaserve {
namespace {

using std::chrono::milliseconds;

class ServerDisconnectTest : public ServerTest {
 protected:
  void expect_released(size_t aborted) {
    EXPECT_TRUE(wait_until([&] { return engine_->num_aborted() == aborted; }));
    EXPECT_EQ(engine_->num_running(), 0U);
  }
};

TEST_F(ServerDisconnectTest, WhileQueuedFreesTheRequest) {
  start();
  engine_->hold(true);
  for (const char* stream : {R"("stream":true)", ""}) {
    const size_t before = engine_->num_aborted();
    const size_t submitted = engine_->num_submitted();
    RawClient client(server_->port());
    client.send(http_request("POST", "/v1/chat/completions", chat_body(stream)));
    ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == submitted + 1; }));
    client.close();
    expect_released(before + 1);
  }
  engine_->hold(false);
  expect_alive();
}

TEST_F(ServerDisconnectTest, WhileDecodingFreesTheRequest) {
  max_repeats_ = 100'000;
  start();
  {
    RawClient streaming(server_->port());
    streaming.send(
        http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true,"n":2)")));
    EXPECT_NE(streaming.read_until("\"content\":\"one"), "");
  }
  expect_released(1);
  {
    RawClient whole(server_->port());
    whole.send(http_request("POST", "/v1/chat/completions", chat_body()));
    ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == 2; }));
  }
  expect_released(2);
  {
    RawClient several(server_->port());
    several.send(
        http_request("POST", "/v1/completions", R"({"prompt":["a","b"],"max_tokens":99000})"));
    ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == 4; }));
  }
  expect_released(4);
  max_repeats_ = 1;
  expect_alive();
}

TEST_F(ServerDisconnectTest, WithinTheBodyIsNoRequest) {
  start();
  {
    RawClient client(server_->port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\n{\"a\"");
  }
  expect_alive();
  EXPECT_EQ(engine_->num_submitted(), 1U);
}

TEST_F(ServerDisconnectTest, ByResetFreesTheRequest) {
  max_repeats_ = 100'000;
  start();
  {
    RawClient client(server_->port());
    client.send(http_request("POST", "/v1/chat/completions", chat_body()));
    ASSERT_TRUE(wait_until([&] { return engine_->num_running() == 1; }));
    client.reset();
  }
  expect_released(1);
}

TEST_F(ServerDisconnectTest, WithAPipelinedRequestBehindIsNoticed) {
  start();
  engine_->hold(true);
  RawClient client(server_->port());
  client.send(http_request("POST", "/v1/chat/completions", chat_body()) +
              http_request("GET", "/health"));
  ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == 1; }));
  client.close();
  expect_released(1);
}

TEST_F(ServerDisconnectTest, ManyClientsLeavingAtOnceLeaveNothingBehind) {
  max_repeats_ = 100'000;
  start();
  for (int i = 0; i < 40; ++i) {
    RawClient client(server_->port());
    client.send(http_request("POST", "/v1/chat/completions",
                             chat_body(i % 2 == 0 ? R"("stream":true)" : "")));
    if (i % 3 == 0) {
      std::this_thread::sleep_for(milliseconds(2));
    }
  }
  ASSERT_TRUE(wait_until([&] {
    return request("GET", "/metrics").body.find("deltaserve:http_connections{} 1\n") !=
           std::string::npos;
  }));
  EXPECT_EQ(engine_->num_running(), 0U);
  EXPECT_EQ(engine_->num_aborted(), engine_->num_submitted());
  max_repeats_ = 1;
  expect_alive();
}

TEST_F(ServerDisconnectTest, DrainingFinishesWhatRuns) {
  max_repeats_ = 20;
  start();
  RawClient running(server_->port());
  running.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(running.read_until("data: "), "");
  RawClient idle(server_->port());
  idle.send(http_request("GET", "/health"));
  EXPECT_EQ(idle.read_response().status, 200);
  std::thread stopping([&] { server_->stop(60.0); });
  EXPECT_TRUE(idle.closed());
  EXPECT_NE(running.read_until("data: [DONE]\n\n"), "");
  EXPECT_TRUE(running.closed());
  running.close();
  stopping.join();
  EXPECT_THROW(RawClient(server_->port()), std::runtime_error);
  EXPECT_EQ(engine_->num_aborted(), 0U);
}

// One io thread: what it answers last, it has read last.
TEST_F(ServerDisconnectTest, DrainingRefusesWhatStillComes) {
  options_.num_io_threads = 1;
  max_repeats_ = 100'000;
  start();
  RawClient running(server_->port());
  running.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(running.read_until("data: "), "");
  RawClient coming(server_->port());
  const std::string late = http_request("POST", "/v1/chat/completions", chat_body());
  coming.send(late.substr(0, 30));
  RawClient probe(server_->port());
  probe.send("GET /heal");
  EXPECT_EQ(request("GET", "/health").status, 200);  // the parts before it have arrived
  RawClient idle(server_->port());
  std::thread stopping([&] { server_->stop(60.0); });
  EXPECT_TRUE(idle.closed());
  coming.send(late.substr(30));
  const RawResponse refused = coming.read_response();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("connection"), "close");
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  probe.send("th HTTP/1.1\r\nHost: t\r\n\r\n");
  EXPECT_EQ(probe.read_response().status, 503);
  running.close();
  stopping.join();
  EXPECT_EQ(engine_->num_submitted(), 1U);
}

TEST_F(ServerDisconnectTest, DrainingEndsInTime) {
  max_repeats_ = 100'000;
  start();
  RawClient running(server_->port());
  running.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)")));
  EXPECT_NE(running.read_until("data: "), "");
  server_->stop(0.05);
  EXPECT_EQ(engine_->num_aborted(), 1U);
  EXPECT_TRUE(running.closed());
}

}  // namespace
}  // namespace deltaserve
