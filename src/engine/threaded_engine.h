// The engine thread around an EngineCore: a bounded inbox in, one call of the sink a step out. The
// thread sleeps when there is nothing to do. Nothing but the inbox and the published figures is
// shared, under one mutex that is never held while a step runs or the sink is called.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_core.h"
#include "engine/request_check.h"

namespace deltaserve {

struct ThreadedEngineOptions {
  CoreOptions core;
  RequestLimits limits;
  int64_t max_queue_len = 0;
  MemoryPlan plan;
  PrefixStoreOptions prefix_store;
};

class ThreadedEngine : public Engine {
 public:
  ThreadedEngine(const ThreadedEngineOptions& options, std::unique_ptr<ModelRunner> runner);
  ~ThreadedEngine() override;

  void start(OutputSink sink) override;
  Result<RequestId> submit(Request request) override;
  void abort(RequestId id) override;
  void abort_choice(RequestId id, int32_t index) override;
  void stop(double drain_seconds) override;
  const MemoryPlan& memory_plan() const override { return options_.plan; }
  EngineStats stats() const override;
  bool healthy() const override { return healthy_; }
  std::string failure() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Submission {
    RequestId id;
    Request request;
    Clock::time_point submitted;
  };
  struct Abort {
    RequestId id;
    std::optional<int32_t> choice;
  };
  struct Inbox {  // what other threads want of the engine thread
    std::vector<Submission> requests;
    std::vector<Abort> aborts;
    std::optional<Clock::time_point> stop_by;
  };

  void run();
  void run_loop();
  Inbox wait_for_work();
  void take_in(Inbox& inbox);
  void deliver();
  void die(const std::string& reason);
  void push_abort(Abort abort);

  const ThreadedEngineOptions options_;
  std::unique_ptr<ModelRunner> runner_;
  EngineCore core_;  // the engine thread's
  OutputSink sink_;  // the engine thread's once it runs
  std::atomic<bool> healthy_ = true;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Inbox inbox_;             // guarded by mutex_
  bool accepting_ = true;   // guarded by mutex_
  int64_t num_queued_ = 0;  // choices in the inbox or waiting in the core; guarded by mutex_
  RequestId next_id_ = 1;   // guarded by mutex_
  EngineStats stats_;       // guarded by mutex_
  std::string failure_;     // guarded by mutex_

  std::mutex join_mutex_;  // guards thread_
  std::thread thread_;
};

}  // namespace deltaserve
