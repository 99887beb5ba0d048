// The engine inside a command: submits one request and hands its outputs to the calling thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace deltaserve {

class LocalEngine {
 public:
  // `model` must outlive this.
  static Result<std::unique_ptr<LocalEngine>> start(Model& model, const EngineOptions& options);
  ~LocalEngine();

  // Runs a request of one choice to its end; `on_output` sees every output on this thread and
  // returns false to end the sequence early.
  Result<void> run(Request request, const std::function<bool(const ChoiceOutput&)>& on_output);

  const MemoryPlan& memory_plan() const { return engine_->memory_plan(); }

 private:
  LocalEngine() = default;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<RequestOutput> outputs_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace deltaserve
