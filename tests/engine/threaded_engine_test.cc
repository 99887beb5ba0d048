// The engine with its thread: many clients at once, aborts from elsewhere, stopping while busy, a
// full queue. Meant to be run under ThreadSanitizer too.
#include "engine/threaded_engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "fake_engine.h"

namespace deltaserve {
namespace {

ThreadedEngineOptions options_of(const FakeLimits& limits, int64_t max_queue_len) {
  ThreadedEngineOptions options;
  options.core = FakeEngine::core_options(limits);
  options.limits = {.max_model_len = int64_t{limits.num_blocks} * kBlockSize,
                    .vocab_size = kFakeVocab,
                    .max_choices = max_queue_len};
  options.max_queue_len = max_queue_len;
  return options;
}

std::unique_ptr<FakeRunner> runner_of(const FakeLimits& limits) {
  return std::make_unique<FakeRunner>(limits.num_blocks, static_cast<int32_t>(limits.max_num_seqs),
                                      kFakeVocab);
}

// The client's side of the sink: waits for requests by id.
class Client {
 public:
  OutputSink sink() {
    return [this](std::vector<RequestOutput>&& outputs) {
      const std::lock_guard lock(mutex_);
      recorder_.take(std::move(outputs));
      changed_.notify_all();
    };
  }

  RequestRecord wait(RequestId id) {
    std::unique_lock lock(mutex_);
    const bool finished = changed_.wait_for(lock, std::chrono::seconds(60),
                                            [&] { return recorder_.records[id].finished; });
    EXPECT_TRUE(finished) << "request " << id << " never finished";
    return recorder_.records[id];
  }

  void wait_for_token(RequestId id) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      const auto& choices = recorder_.records[id].choices;
      return choices.contains(0) && !choices.at(0).tokens.empty();
    });
  }

  std::map<RequestId, RequestRecord> records() {
    const std::lock_guard lock(mutex_);
    return recorder_.records;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Recorder recorder_;
};

constexpr FakeLimits kLimits{.num_blocks = 24, .max_num_seqs = 5, .max_num_batched_tokens = 128};

TEST(ThreadedEngine, ServesManyThreadsWithTheTextOfIsolatedRuns) {
  Client client;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start(client.sink());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&engine, &client, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        const Request request = make_request(static_cast<int64_t>(1 + 7 * i), 20, 100 * t + i);
        const Result<RequestId> id = engine.submit(request);
        ASSERT_TRUE(id.has_value());
        EXPECT_EQ(client.wait(*id).choices.at(0).tokens, run_alone(request).choices.at(0).tokens);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.stop(1.0);
  EXPECT_EQ(engine.stats().requests_length, 80);
  EXPECT_EQ(engine.stats().num_running, 0);
}

TEST(ThreadedEngine, AbortsFromOtherThreads) {
  Client client;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start(client.sink());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&engine, &client, t] {
      for (uint64_t i = 0; i < 20; ++i) {
        Request request = make_request(30, 300, 100 * t + i);
        request.sampling.n = 2;
        const RequestId id = engine.submit(request).value();
        if (i % 2 == 0) client.wait_for_token(id);
        engine.abort_choice(id, 1);
        engine.abort(id);
        const RequestRecord record = client.wait(id);
        EXPECT_TRUE(record.any(FinishReason::kAbort) || record.any(FinishReason::kLength));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.stop(1.0);
  EXPECT_EQ(engine.stats().kv_cache_usage, 0.0);
}

TEST(ThreadedEngine, RefusesWhenTheQueueIsFull) {
  Client client;
  ThreadedEngine engine(options_of(kLimits, 3), runner_of(kLimits));
  Request pair = make_request(10, 5);
  pair.sampling.n = 2;
  const Result<RequestId> first = engine.submit(pair);  // not started: nothing leaves the queue
  const Result<RequestId> second = engine.submit(make_request(10, 5));
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(engine.stats().num_waiting, 3) << "figures need no step";
  const Result<RequestId> third = engine.submit(make_request(10, 5));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, ErrorCode::kTooManyRequests);
  engine.start(client.sink());
  client.wait(*first);
  client.wait(*second);
  EXPECT_TRUE(engine.submit(pair).has_value()) << "the queue has room again";
  pair.sampling.n = 4;
  EXPECT_EQ(engine.submit(pair).error().param, "n") << "more than the queue ever holds";
  engine.stop(5.0);
}

TEST(ThreadedEngine, StopDrainsWhatWasAccepted) {
  Client client;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start(client.sink());
  std::vector<RequestId> ids;
  for (uint64_t i = 0; i < 30; ++i) ids.push_back(engine.submit(make_request(20, 30, i)).value());
  engine.stop(60.0);
  const auto records = client.records();
  for (const RequestId id : ids) {
    EXPECT_EQ(records.at(id).choices.at(0).reason, FinishReason::kLength);
  }
  const Result<RequestId> late = engine.submit(make_request(20, 30));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kUnavailable);
}

TEST(ThreadedEngine, StopAbortsWhatDoesNotFinishInTime) {
  Client client;
  auto runner = runner_of(kLimits);
  runner->on_sequence = [](const Batch&, int32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  ThreadedEngine engine(options_of(kLimits, 1000), std::move(runner));
  engine.start(client.sink());
  std::vector<RequestId> ids;
  for (uint64_t i = 0; i < 30; ++i) ids.push_back(engine.submit(make_request(20, 300, i)).value());
  client.wait_for_token(ids[0]);
  engine.stop(0.02);
  const auto records = client.records();
  for (const RequestId id : ids) {
    ASSERT_TRUE(records.contains(id) && records.at(id).finished);
    EXPECT_EQ(records.at(id).choices.at(0).reason, FinishReason::kAbort);
  }
  engine.stop(0.0);  // again, harmlessly
}

TEST(ThreadedEngine, StopRacesWithSubmitWithoutLosingAnyone) {
  for (int round = 0; round < 10; ++round) {
    Client client;
    ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
    engine.start(client.sink());
    std::atomic<int> accepted = 0;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&engine, &accepted, t] {
        while (engine.submit(make_request(10, 5, t)).has_value()) ++accepted;
      });
    }
    while (accepted < 20) std::this_thread::yield();
    engine.stop(0.0);
    for (std::thread& thread : threads) thread.join();
    const auto records = client.records();
    EXPECT_EQ(static_cast<int>(records.size()), accepted);
    for (const auto& [id, record] : records) EXPECT_TRUE(record.finished);
  }
}

TEST(ThreadedEngine, LivesOnAfterFailingSteps) {
  Client client;
  auto runner = runner_of(kLimits);
  runner->on_sequence = [count = 0](const Batch&, int32_t) mutable {
    if (++count == 5) throw std::runtime_error("device lost");
  };
  ThreadedEngine engine(options_of(kLimits, 1000), std::move(runner));
  engine.start(client.sink());
  const RequestId failing = engine.submit(make_request(20, 30, 1)).value();
  EXPECT_EQ(client.wait(failing).choices.at(0).reason, FinishReason::kError);
  const RequestId next = engine.submit(make_request(20, 30, 2)).value();
  EXPECT_EQ(client.wait(next).choices.at(0).tokens,
            run_alone(make_request(20, 30, 2)).choices.at(0).tokens);
  EXPECT_TRUE(engine.healthy());
}

TEST(ThreadedEngine, ABrokenSinkEndsTheEngineNotTheProcess) {
  std::atomic<int> calls = 0;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start([&calls](std::vector<RequestOutput>&&) {
    ++calls;
    throw std::runtime_error("sink");
  });
  ASSERT_TRUE(engine.submit(make_request(20, 30)).has_value());
  for (int i = 0; i < 10000 && engine.healthy(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(engine.healthy());
  EXPECT_EQ(engine.failure(), "sink");
  engine.stop(1.0);
  EXPECT_GE(calls, 1);
  EXPECT_EQ(engine.submit(make_request(20, 30)).error().code, ErrorCode::kUnavailable);
}

TEST(ThreadedEngine, ASinkMayHoldALockThatSubmittersHold) {
  // Submitting under a lock that the sink takes lets a client learn the id before any output.
  std::mutex shared;
  std::map<RequestId, int> known;
  std::atomic<int> unknown = 0;
  std::atomic<int> finished = 0;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start([&](std::vector<RequestOutput>&& outputs) {
    const std::lock_guard lock(shared);
    for (const RequestOutput& output : outputs) {
      if (!known.contains(output.id)) ++unknown;
      if (output.finished) ++finished;
    }
  });
  for (uint64_t i = 0; i < 200; ++i) {
    const std::lock_guard lock(shared);
    known[engine.submit(make_request(3, 2, i)).value()] = 1;
  }
  engine.stop(60.0);
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(finished, 200);
}

TEST(ThreadedEngine, StatsAreReadWhileItRuns) {
  Client client;
  ThreadedEngine engine(options_of(kLimits, 1000), runner_of(kLimits));
  engine.start(client.sink());
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done) {
      const EngineStats stats = engine.stats();
      EXPECT_LE(stats.num_running, kLimits.max_num_seqs);
      EXPECT_LE(stats.kv_cache_usage, 1.0);
    }
  });
  RequestId last = 0;
  for (uint64_t i = 0; i < 50; ++i) last = engine.submit(make_request(40, 40, i)).value();
  client.wait(last);
  done = true;
  reader.join();
}

}  // namespace
}  // namespace deltaserve
