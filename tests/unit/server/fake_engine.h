// An engine that says what a test tells it to: every running choice gets one scripted token a step,
// all outputs of a step leave in one call of the sink, and aborts are written down.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace deltaserve {

class FakeEngine : public Engine {
 public:
  // Tokens of a choice; an answer that ends with `eos_token` finishes with stop, others with
  // length.
  using Script = std::function<std::vector<int32_t>(const Request& request, int32_t choice)>;

  explicit FakeEngine(Script script,
                      std::chrono::microseconds step = std::chrono::microseconds(200))
      : script_(std::move(script)), step_(step) {}
  ~FakeEngine() override { stop(0.0); }

  void start(OutputSink sink) override;
  Result<RequestId> submit(Request request) override;
  void abort(RequestId id) override;
  void abort_choice(RequestId id, int32_t index) override;
  void stop(double drain_seconds) override;
  const MemoryPlan& memory_plan() const override { return plan_; }
  EngineStats stats() const override;
  bool healthy() const override { return true; }

  // Accepted requests wait, as behind others in a queue, until released.
  void hold(bool held);
  // Steps go on but each of these requests fails at its first token.
  void fail_with(std::optional<Error> error);
  // The next submits are refused so.
  void refuse_with(std::optional<Error> error);

  size_t num_running() const;
  size_t num_aborted() const;  // whole requests
  size_t num_aborted_choices() const;
  size_t num_submitted() const;

  static constexpr int32_t kEosToken = 4002;

 private:
  struct Running {
    Request request;
    std::vector<std::vector<int32_t>> tokens;  // per choice
    std::vector<size_t> next;                  // per choice
    std::set<int32_t> open;                    // choices
    RequestTimes times;
  };

  void run();
  std::vector<RequestOutput> step();  // under mutex_
  ChoiceOutput step_choice(Running& running, int32_t index);

  Script script_;
  std::chrono::microseconds step_;
  OutputSink sink_;
  MemoryPlan plan_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<RequestId, Running> running_;
  std::optional<Error> failure_;
  std::optional<Error> refusal_;
  bool held_ = false;
  bool stopping_ = false;
  RequestId next_id_ = 1;
  size_t num_aborted_ = 0;
  size_t num_aborted_choices_ = 0;
  std::thread thread_;
};

}  // namespace deltaserve
