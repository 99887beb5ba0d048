// Carries engine outputs to the io threads: all outputs of a step in one post a thread, so that an
// engine step costs a bounded number of wake-ups however many streams are running.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "server/io_threads.h"

namespace deltaserve {

// Called on the io thread that it was registered for.
class OutputReceiver {
 public:
  virtual ~OutputReceiver() = default;
  // An output of the request submitted with `prompt_index`.
  virtual void on_output(size_t prompt_index, RequestOutput&& output) = 0;
  // After all outputs of a step: the time to write. May come more than once a step.
  virtual void on_step_end() = 0;
  // on_output or on_step_end threw.
  virtual void on_exception(const std::string& what) = 0;
};

class OutputDispatcher {
 public:
  explicit OutputDispatcher(IoThreads& io) : io_(&io) {}

  // Submits and registers at once, so that the first output cannot come too early. Any thread.
  Result<RequestId> submit(Engine& engine, Request request, size_t io_index,
                           std::shared_ptr<OutputReceiver> receiver, size_t prompt_index);

  // No outputs of that request are wanted any more (those already posted still come). Any thread.
  void remove(RequestId id);

  // The engine's sink; called on the engine thread, does not block.
  void deliver(std::vector<RequestOutput>&& outputs);

 private:
  struct Target {
    size_t io_index = 0;
    std::shared_ptr<OutputReceiver> receiver;
    size_t prompt_index = 0;
  };
  struct Delivery {
    std::shared_ptr<OutputReceiver> receiver;
    size_t prompt_index = 0;
    RequestOutput output;
  };

  static void run(std::vector<Delivery>& deliveries);

  IoThreads* io_;
  std::mutex mutex_;
  std::unordered_map<RequestId, Target> targets_;
};

}  // namespace deltaserve
