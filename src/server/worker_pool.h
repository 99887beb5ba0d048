// Threads for work that would hold up an io thread: parsing, rendering, tokenising.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace deltaserve {

class WorkerPool {
 public:
  // At most `max_pending` jobs wait; more are refused.
  WorkerPool(size_t num_threads, size_t max_pending);
  ~WorkerPool();

  // False if the queue is full or the pool has stopped. Jobs run in the order they came; an
  // exception in one is logged.
  bool post(std::move_only_function<void()> job);

  // Drops what is queued, waits for running jobs.
  void stop();

 private:
  void run();

  size_t max_pending_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::move_only_function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deltaserve
