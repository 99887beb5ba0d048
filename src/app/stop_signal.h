// SIGINT and SIGTERM as something to wait for. Until `arm` a signal ends the process at once, since
// nothing is being served that could be lost; from then on the first one ends `wait`.
#pragma once

#include <signal.h>

#include <atomic>
#include <future>
#include <thread>

namespace deltaserve {

class StopSignal {
 public:
  // Blocks both signals in this thread and in those it starts later: make it before any other.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void arm() { armed_ = true; }
  void wait() { received_.get_future().wait(); }

 private:
  void listen();

  sigset_t signals_{};
  std::atomic<bool> armed_ = false;
  std::atomic<bool> closing_ = false;
  std::promise<void> received_;
  std::thread listener_;
};

}  // namespace deltaserve
