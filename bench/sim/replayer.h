// Plays a trace against the real scheduler and cache on a virtual clock. Sessions start at their
// own times or a given number side by side; within a session a request follows those it waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "engine/engine_core.h"
#include "prefix_oracle.h"
#include "sim_runner.h"
#include "trace.h"

namespace deltaserve {

struct ReplayOptions {
  int64_t concurrency = 0;  // sessions side by side; 0: each at its own time
  double pace = 1.0;        // factor on pauses and times of arrival
  int32_t vocab_size = 0;
  int64_t max_model_len = 0;  // requests beyond it are refused and count as such
};

// Times are seconds of the virtual clock.
struct RequestFigures {
  double sent = 0.0;
  double first_token = 0.0;
  double ended = 0.0;
  std::vector<float> gaps;  // between tokens
  int64_t num_cached = 0;
  int64_t num_shared = 0;  // with what was finished when it was sent: the oracle's answer
  bool refused = false;
  bool failed = false;
};

class Replayer {
 public:
  // All must outlive this. `runner` is the core's.
  Replayer(const Trace& trace, const ReplayOptions& options, EngineCore& core, SimRunner& runner);

  // To the end of the trace. Every `check_every` steps (0: never) the engine's invariants are
  // checked; throws std::logic_error if one does not hold.
  void run(int64_t check_every = 0);

  double seconds() const { return now_; }
  double busy_seconds() const { return busy_; }
  int64_t num_steps() const { return num_steps_; }
  int64_t max_running() const { return max_running_; }
  int64_t max_waiting() const { return max_waiting_; }
  const std::vector<RequestFigures>& figures() const { return figures_; }

 private:
  struct Arrival {
    double at = 0.0;
    int32_t request = 0;
    auto operator<=>(const Arrival&) const = default;
  };

  void start_sessions();
  void start_next_session();
  void submit(int32_t request);
  void step();
  void check() const;
  void take(const RequestOutput& output);
  void finish(int32_t request);

  const Trace* trace_;
  ReplayOptions options_;
  EngineCore* core_;
  SimRunner* runner_;
  PrefixOracle oracle_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<std::vector<int32_t>> waiters_;   // [requests] that wait for it
  std::vector<int32_t> num_missing_;            // [requests] of `after` not yet finished
  std::vector<std::vector<int32_t>> sessions_;  // first requests of each
  std::vector<int32_t> session_left_;           // requests of each that are not finished
  size_t next_session_ = 0;
  double now_ = 0.0;
  double busy_ = 0.0;
  int64_t num_steps_ = 0;
  int64_t max_running_ = 0;
  int64_t max_waiting_ = 0;
  std::vector<RequestFigures> figures_;
};

}  // namespace deltaserve
