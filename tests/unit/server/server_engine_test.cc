// The real engine behind the real server, over a runner that fails when it is told to: a request
// that breaks the engine's step gets its 500, and every later one is served.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

#include "engine/threaded_engine.h"
#include "ops/device_lost.h"
#include "server_fixture.h"

namespace deltaserve {
namespace {

constexpr int32_t kVocab = 8192;
constexpr int32_t kWord = 300;  // the token that every row gives

struct Faults {
  enum Kind : uint8_t { kNone, kException, kOutOfMemory, kForeign, kNonFinite, kDeviceLost };
  std::atomic<Kind> kind = kNone;
  std::atomic<int> steps_before = 0;  // of the runner, until it fails
  std::atomic<bool> held = false;     // steps do not end
};

class FaultyRunner : public ModelRunner {
 public:
  explicit FaultyRunner(Faults& faults) : faults_(&faults) {}

  void run(const Batch& /*batch*/, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override {
    while (faults_->held) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool failing = faults_->kind != Faults::kNone && faults_->steps_before-- <= 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      sampled[i].token = kWord;
      sampled[i].finite = !(failing && faults_->kind == Faults::kNonFinite);
    }
    if (failing) {
      fail();
    }
  }

 private:
  void fail() const {
    switch (faults_->kind) {
      case Faults::kException:
        throw std::runtime_error("the device is on fire");
      case Faults::kOutOfMemory:
        throw std::bad_alloc();
      case Faults::kForeign:
        throw 42;
      case Faults::kDeviceLost:
        throw DeviceLost("an illegal memory access was encountered");
      case Faults::kNonFinite:
      case Faults::kNone:
        return;
    }
  }

  Faults* faults_;
};

class ServerEngineTest : public ServerTest {
 protected:
  ~ServerEngineTest() override {
    faults_.held = false;
    if (server_) {
      server_->stop(0.0);
    }
    if (real_engine_) {
      real_engine_->stop(0.0);
    }
  }

  void start_real(int64_t max_queue_len = 64) {
    start(false);
    real_engine_ = std::make_unique<ThreadedEngine>(engine_options(max_queue_len),
                                                    std::make_unique<FaultyRunner>(faults_));
    real_engine_->start(server_->output_sink());
    set_ready_with(*real_engine_, 1024);
  }

  static ThreadedEngineOptions engine_options(int64_t max_queue_len) {
    ThreadedEngineOptions options;
    options.core.num_blocks = 64;
    options.core.num_state_slots = 8;
    options.core.vocab_size = kVocab;
    options.core.scheduler.max_num_seqs = 8;
    options.core.scheduler.max_num_batched_tokens = 256;
    options.limits = {.max_model_len = 1024, .vocab_size = kVocab, .max_choices = 64};
    options.max_queue_len = max_queue_len;
    return options;
  }

  void expect_served() const {
    const RawResponse response = chat(R"("max_tokens":5)");
    ASSERT_EQ(response.status, 200) << response.body;
    const auto body = json::parse(response.body);
    EXPECT_EQ(body->at("usage").at("completion_tokens").to_number<int64_t>(), 5);
  }

  Faults faults_;
  std::unique_ptr<ThreadedEngine> real_engine_;
};

TEST_F(ServerEngineTest, AFailedStepIsA500AndTheNextRequestIsServed) {
  start_real();
  for (const auto kind :
       {Faults::kException, Faults::kOutOfMemory, Faults::kForeign, Faults::kNonFinite}) {
    for (const int steps_before : {0, 2}) {
      for (const char* fields : {R"("max_tokens":5)", R"("max_tokens":5,"n":2)"}) {
        faults_.steps_before = steps_before;
        faults_.kind = kind;
        const RawResponse response = chat(fields);
        faults_.kind = Faults::kNone;
        EXPECT_EQ(response.status, 500) << response.body;
        EXPECT_EQ(response.headers.at("content-type"), "application/json");
        EXPECT_NE(response.body.find(R"("type":"server_error")"), std::string::npos);
        expect_served();
      }
    }
  }
  EXPECT_EQ(request("GET", "/health").status, 200);
  EXPECT_EQ(real_engine_->stats().kv_cache_usage, 0.0);
}

TEST_F(ServerEngineTest, ALostDeviceEndsTheEngineAndHealthSaysSo) {
  start_real();
  faults_.kind = Faults::kDeviceLost;
  EXPECT_EQ(chat(R"("max_tokens":5)").status, 500);
  faults_.kind = Faults::kNone;
  EXPECT_EQ(request("GET", "/health").status, 503);
  const RawResponse later = chat(R"("max_tokens":5)");
  EXPECT_EQ(later.status, 503);
  EXPECT_NE(later.body.find("the engine has failed"), std::string::npos) << later.body;
  EXPECT_NE(real_engine_->failure().find("illegal memory access"), std::string::npos);
}

TEST_F(ServerEngineTest, AStreamThatFailsBeforeItsFirstTokenIsAStatus) {
  start_real();
  faults_.kind = Faults::kException;
  const RawResponse response = chat(R"("max_tokens":5,"stream":true)");
  faults_.kind = Faults::kNone;
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.headers.at("content-type"), "application/json");
  expect_served();
}

TEST_F(ServerEngineTest, AStreamThatFailsLaterEndsWithAnError) {
  start_real();
  faults_.steps_before = 3;
  faults_.kind = Faults::kException;
  const RawResponse response = chat(R"("max_tokens":50,"stream":true)");
  faults_.kind = Faults::kNone;
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("data: {\"error\":{"), std::string::npos);
  EXPECT_TRUE(response.body.ends_with("data: [DONE]\n\n"));
  expect_served();
}

TEST_F(ServerEngineTest, AFullQueueIsA429WithRetryAfter) {
  start_real(2);
  faults_.held = true;
  RawClient first(server_->port());
  RawClient second(server_->port());
  for (RawClient* client : {&first, &second}) {
    client->send(http_request("POST", "/v1/chat/completions", chat_body(R"("max_tokens":3)")));
  }
  ASSERT_TRUE(wait_until([&] { return real_engine_->stats().num_waiting == 2; }));
  for (const char* fields : {R"("max_tokens":3)", R"("max_tokens":3,"stream":true)"}) {
    const RawResponse refused = chat(fields);
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_EQ(refused.headers.at("retry-after"), "1");
    EXPECT_EQ(refused.headers.at("content-type"), "application/json");
    EXPECT_NE(refused.body.find(R"("type":"rate_limit_error")"), std::string::npos);
  }
  const std::string waiting = "vllm:num_requests_waiting{engine=\"0\",model_name=\"tiny\"} 2";
  EXPECT_NE(request("GET", "/metrics").body.find(waiting), std::string::npos);
  faults_.held = false;
  EXPECT_EQ(first.read_response().status, 200);
  EXPECT_EQ(second.read_response().status, 200);
  expect_served();
}

TEST_F(ServerEngineTest, ADeadEngineSaysSoAtHealth) {
  start(false);
  ThreadedEngineOptions options = engine_options(64);
  real_engine_ = std::make_unique<ThreadedEngine>(options, std::make_unique<FaultyRunner>(faults_));
  real_engine_->start([](std::vector<RequestOutput>&&) { throw std::runtime_error("no sink"); });
  set_ready_with(*real_engine_, 1024);
  EXPECT_EQ(request("GET", "/health").status, 200);
  Request request_of_it;
  request_of_it.prompt_token_ids = {kWord};
  request_of_it.sampling.max_tokens = 2;
  ASSERT_TRUE(real_engine_->submit(request_of_it));
  ASSERT_TRUE(wait_until([&] { return !real_engine_->healthy(); }));
  const RawResponse health = request("GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_NE(health.body.find("no sink"), std::string::npos) << health.body;
  EXPECT_EQ(chat().status, 503);
}

TEST_F(ServerEngineTest, ConnectionsOutliveTheFailures) {
  start_real();
  RawClient client(server_->port());
  for (int i = 0; i < 20; ++i) {
    faults_.steps_before = 0;
    faults_.kind = i % 2 == 0 ? Faults::kException : Faults::kNone;
    client.send(http_request("POST", "/v1/chat/completions", chat_body(R"("max_tokens":3)")));
    EXPECT_EQ(client.read_response().status, i % 2 == 0 ? 500 : 200);
  }
}

}  // namespace
}  // namespace deltaserve
