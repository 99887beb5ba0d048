// WorkerPool: one queue, one lock.
#include "server/worker_pool.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace deltaserve {

WorkerPool::WorkerPool(size_t num_threads, size_t max_pending) : max_pending_(max_pending) {
  for (size_t i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] { run(); });
    pthread_setname_np(threads_.back().native_handle(), "ds-worker");
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

bool WorkerPool::post(std::move_only_function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || jobs_.size() >= max_pending_) {
      return false;
    }
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::stop() {
  std::deque<std::move_only_function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void WorkerPool::run() {
  for (;;) {
    std::move_only_function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        return;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      job();
    } catch (const std::exception& error) {
      spdlog::error("a worker job failed: {}", error.what());
    }
  }
}

}  // namespace deltaserve
