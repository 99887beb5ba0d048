// What the log and the answers say of a request: its id everywhere, one line when it ends.
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <sstream>

#include "server_fixture.h"

namespace deltaserve {
namespace {

// Keeps the log while it lives.
class LogCapture {
 public:
  LogCapture() : previous_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_);
    sink_ = sink;
    auto logger = std::make_shared<spdlog::logger>("test", sink);
    logger->set_pattern("%l %v");
    spdlog::set_default_logger(logger);
  }
  ~LogCapture() { spdlog::set_default_logger(previous_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Only while no other thread logs.
  std::string text() const { return lines_.str(); }

 private:
  std::ostringstream lines_;
  std::shared_ptr<spdlog::sinks::ostream_sink_mt> sink_;
  std::shared_ptr<spdlog::logger> previous_;
};

class ServerLogTest : public ServerTest {
 protected:
  // All that was logged; ends the server.
  std::string stop_and_read() {
    server_->stop(1.0);
    engine_->stop(0.0);
    return log_.text();
  }

  static size_t count(std::string_view text, std::string_view part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  // Before the server's threads and after them.
  LogCapture log_;
};

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << (part) << " is not in\n" << (text)

TEST_F(ServerLogTest, EveryAnswerCarriesAnId) {
  options_.api_keys = {"k"};
  start();
  const std::string key = "Authorization: Bearer k\r\n";
  const std::string id = "X-Request-Id: mine-1\r\n";
  const auto id_of = [](const RawResponse& response) {
    return response.headers.at("x-request-id");
  };
  EXPECT_EQ(id_of(request("GET", "/health", "", id)), "mine-1");
  EXPECT_EQ(id_of(request("OPTIONS", "/v1/models", "", id)), "mine-1");
  EXPECT_EQ(id_of(request("GET", "/v1/models", "", id)), "mine-1");  // 401
  EXPECT_EQ(id_of(request("GET", "/nowhere", "", id + key)), "mine-1");
  for (const char* fields : {"", R"("stream":true)", R"("top_p":7)"}) {
    EXPECT_EQ(id_of(request("POST", "/v1/chat/completions", chat_body(fields), id + key)),
              "mine-1");
  }
  EXPECT_TRUE(id_of(request("GET", "/health")).starts_with("req-"));
  EXPECT_TRUE(id_of(request("GET", "/health", "", "X-Request-Id: a b\r\n")).starts_with("req-"));
  RawClient client(server_->port());
  client.send(http_request("GET", "/health", "", id) + http_request("GET", "/health") + "junk\r\n");
  EXPECT_EQ(id_of(client.read_response()), "mine-1");
  const std::string second = id_of(client.read_response());
  EXPECT_TRUE(second.starts_with("req-"));
  const RawResponse junk = client.read_response();
  EXPECT_EQ(junk.status, 400);
  EXPECT_TRUE(id_of(junk).starts_with("req-"));
  EXPECT_NE(id_of(junk), second);
}

TEST_F(ServerLogTest, AFinishedGenerationIsOneLine) {
  start();
  EXPECT_EQ(request("POST", "/v1/chat/completions", chat_body(R"("stream":true,"n":2)"),
                    "X-Request-Id: done\r\n")
                .status,
            200);
  const std::string log = stop_and_read();
  EXPECT_EQ(count(log, "id=done"), 1U) << log;
  EXPECT_CONTAINS(log, "info request id=done answer=chatcmpl-");
  EXPECT_CONTAINS(log,
                  " route=/v1/chat/completions status=200 outcome=finished stream=true n=2 "
                  "finish=stopx2 prompt=");
  EXPECT_CONTAINS(log, " completion=14 ");
  for (const char* time : {"queue_ms=", "prefill_ms=", "ttft_ms=", "itl_ms=", "total_ms="}) {
    EXPECT_CONTAINS(log, time);
    EXPECT_EQ(log.find(std::string(time) + "-"), std::string::npos) << log;
  }
}

TEST_F(ServerLogTest, FailuresAndRefusalsSayWhy) {
  start();
  engine_->fail_with(Error{ErrorCode::kInternal, "device lost\nid=forged", "", ""});
  const std::string id = "X-Request-Id: bad\r\n";
  EXPECT_EQ(request("POST", "/v1/chat/completions", chat_body(), id).status, 500);
  engine_->fail_with(std::nullopt);
  EXPECT_EQ(
      request("POST", "/v1/chat/completions", chat_body(R"("top_p":7)"), "X-Request-Id: r400\r\n")
          .status,
      400);
  EXPECT_EQ(request("GET", "/no%0Awhere", "", "X-Request-Id: r404\r\n").status, 404);
  const std::string log = stop_and_read();
  EXPECT_CONTAINS(log, "info request id=bad answer=chatcmpl-");
  EXPECT_CONTAINS(log, " status=500 outcome=failed ");
  EXPECT_CONTAINS(log,
                  "error refused id=bad POST /v1/chat/completions status=500 "
                  "reason=\"device lost\\x0aid=forged\"");
  EXPECT_CONTAINS(log, "warning refused id=r400 POST /v1/chat/completions status=400 reason=\"");
  EXPECT_CONTAINS(log, "warning refused id=r404 GET /no\\x0awhere status=404 ");
  EXPECT_EQ(count(log, "outcome="), 1U) << log;
}

TEST_F(ServerLogTest, AClientThatLeavesIsA499) {
  max_repeats_ = 100'000;
  start();
  {
    RawClient streaming(server_->port());
    streaming.send(http_request("POST", "/v1/chat/completions", chat_body(R"("stream":true)"),
                                "X-Request-Id: left1\r\n"));
    EXPECT_NE(streaming.read_until("\"content\":\"one"), "");
  }
  {
    RawClient whole(server_->port());
    whole.send(
        http_request("POST", "/v1/chat/completions", chat_body(), "X-Request-Id: left2\r\n"));
    ASSERT_TRUE(wait_until([&] { return engine_->num_submitted() == 2; }));
  }
  std::string metrics;
  EXPECT_TRUE(wait_until([&] {
    metrics = request("GET", "/metrics").body;
    return metrics.find("deltaserve:client_disconnects_total{} 2") != std::string::npos;
  })) << metrics;
  EXPECT_EQ(engine_->num_aborted(), 2U);
  EXPECT_CONTAINS(
      metrics, "deltaserve:http_responses_total{route=\"/v1/chat/completions\",status=\"499\"} 1");
  EXPECT_CONTAINS(metrics,
                  "vllm:e2e_request_latency_seconds_count{engine=\"0\",model_name="
                  "\"tiny\"} 0");
  const std::string log = stop_and_read();
  for (const char* left : {"id=left1", "id=left2"}) {
    EXPECT_EQ(count(log, left), 1U) << log;
  }
  EXPECT_EQ(count(log, " status=499 outcome=aborted "), 2U) << log;
}

TEST_F(ServerLogTest, CanBeQuietAboutAllButServerErrors) {
  options_.log_requests = false;
  start();
  expect_alive();
  EXPECT_EQ(request("GET", "/nowhere").status, 404);
  engine_->fail_with(Error{ErrorCode::kInternal, "device lost", "", ""});
  EXPECT_EQ(chat().status, 500);
  const std::string log = stop_and_read();
  EXPECT_EQ(log.find("outcome="), std::string::npos) << log;
  EXPECT_EQ(log.find("404"), std::string::npos) << log;
  EXPECT_CONTAINS(log, "status=500 reason=\"device lost\"");
}

TEST_F(ServerLogTest, MetricsSplitTheTime) {
  start();
  EXPECT_EQ(chat(R"("stream":true)").status, 200);
  const std::string metrics = request("GET", "/metrics").body;
  const std::string labels = "{engine=\"0\",model_name=\"tiny\"}";
  for (const char* name : {"vllm:request_queue_time_seconds", "vllm:request_prefill_time_seconds",
                           "vllm:request_decode_time_seconds", "vllm:time_to_first_token_seconds",
                           "vllm:request_time_per_output_token_seconds"}) {
    EXPECT_CONTAINS(metrics, name + ("_count" + labels) + " 1");
  }
  EXPECT_CONTAINS(metrics, "vllm:inter_token_latency_seconds_count" + labels + " 6");
}

}  // namespace
}  // namespace deltaserve
