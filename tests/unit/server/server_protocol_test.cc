// A connection's protocol over a transport that is only written down, with routes whose handlers
// wait for the test: what clients do while a worker reads, and answers that cannot be written.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <future>
#include <latch>
#include <mutex>
#include <stdexcept>

#include "api/chat_response.h"
#include "server/http_protocol.h"
#include "server_fixture.h"

namespace deltaserve {
namespace {

class RecordingTransport : public Transport {
 public:
  void send(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    sent_ += bytes;
  }
  size_t unsent_bytes() const override { return 0; }
  void finish() override {}
  void close() override {}
  void set_deadline(std::chrono::milliseconds /*after*/) override {}

  std::string sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

 private:
  mutable std::mutex mutex_;
  std::string sent_;
};

class BrokenResponse : public ChatResponse {
 public:
  using ChatResponse::ChatResponse;
  std::string body(const std::vector<CollectedChoice>& /*choices*/,
                   const Usage& /*usage*/) override {
    throw std::runtime_error("the body cannot be written");
  }
};

class ServerProtocolTest : public ServerTest {
 protected:
  ServerProtocolTest() : core_(one_of_each()) {
    engine_ = std::make_unique<FakeEngine>(
        [](const Request&, int32_t) { return std::vector<int32_t>{FakeEngine::kEosToken}; });
    engine_->start([this](std::vector<RequestOutput>&& outputs) {
      core_.dispatcher.deliver(std::move(outputs));
    });
    set_ready_with(*engine_, 1000);
  }

  void TearDown() override {
    engine_->stop(0.0);
    core_.workers.stop();
    core_.io.stop();
  }

  static ServerOptions one_of_each() {
    ServerOptions options;
    options.num_io_threads = 1;
    options.num_workers = 1;
    return options;
  }

  // Serves POST /slow with `handler`.
  void serve(GenerationHandler handler) {
    Route route;
    route.method = "POST";
    route.path = "/slow";
    route.on_worker = true;
    route.generation = std::move(handler);
    core_.router.add(std::move(route));
    core_.io.start();
  }

  // Runs on the io thread, after all that was posted to it before.
  void on_io(const std::function<void()>& task) {
    std::promise<void> done;
    core_.io.post(0, [&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  std::shared_ptr<HttpProtocol> ask(Transport& transport) {
    auto protocol = std::make_shared<HttpProtocol>(core_, transport, 0);
    on_io([&] {
      std::string input = http_request("POST", "/slow", chat_body());
      protocol->on_bytes(input);
    });
    return protocol;
  }

  void leave(HttpProtocol& protocol) {
    on_io([&] {
      EXPECT_FALSE(protocol.on_peer_closed());
      protocol.on_closed();
    });
  }

  ServerCore core_;
};

// The worker finds out late: the request must not reach the engine. One that no worker has begun
// with is not read at all.
TEST_F(ServerProtocolTest, AClientThatLeavesWhileAWorkerReadsIsNoGeneration) {
  std::latch entered(1);
  std::latch go(1);
  std::atomic<int> num_read = 0;
  serve([&](const HttpRequest& request) {
    ++num_read;
    entered.count_down();
    go.wait();
    return service_.chat(request.body);
  });
  RecordingTransport transport;
  const auto being_read = ask(transport);
  entered.wait();
  const auto waiting = ask(transport);
  leave(*being_read);
  leave(*waiting);
  go.count_down();
  std::latch later(1);
  ASSERT_TRUE(core_.workers.post([&] { later.count_down(); }));
  later.wait();
  on_io([] {});
  EXPECT_EQ(num_read, 1);
  EXPECT_EQ(engine_->num_submitted(), 0U);
  EXPECT_EQ(transport.sent(), "");
  const std::string metrics = core_.metrics.text(nullptr);
  EXPECT_NE(metrics.find("{route=\"/slow\",status=\"499\"} 2"), std::string::npos) << metrics;
}

TEST_F(ServerProtocolTest, AnAnswerThatCannotBeWrittenIsA500) {
  serve([this](const HttpRequest& request) {
    Result<ApiService::Prepared> prepared = service_.chat(request.body);
    prepared->job.options.make_format = [](const Tokenizer& tokenizer,
                                           const ResponseOptions& options) {
      return std::make_unique<BrokenResponse>(tokenizer, options);
    };
    return prepared;
  });
  RecordingTransport transport;
  const auto protocol = ask(transport);
  ASSERT_TRUE(wait_until([&] { return !transport.sent().empty(); }));
  EXPECT_TRUE(transport.sent().starts_with("HTTP/1.1 500 ")) << transport.sent();
  EXPECT_NE(transport.sent().find(R"("type":"server_error")"), std::string::npos);
  on_io([&] { protocol->on_closed(); });
}

}  // namespace
}  // namespace deltaserve
