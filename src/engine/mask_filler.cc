// One list of work under one lock.
#include "engine/mask_filler.h"

#include <utility>

#include "base/check.h"

namespace deltaserve {

MaskFiller::MaskFiller(int32_t num_threads) {
  for (int32_t i = 0; i < num_threads; ++i) threads_.emplace_back([this] { run(); });
}

MaskFiller::~MaskFiller() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MaskFiller::start(std::span<GrammarLimit* const> limits) {
  if (limits.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    DS_CHECK(next_ == limits_.size() && num_begun_ == 0, "masks are being made");
    limits_.assign(limits.begin(), limits.end());
    next_ = 0;
  }
  work_.notify_all();
}

bool MaskFiller::make_next(std::unique_lock<std::mutex>& lock) {
  if (next_ == limits_.size()) return false;
  GrammarLimit& limit = *limits_[next_++];
  ++num_begun_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    limit.make_mask();
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure) failure_ = failure;
  if (--num_begun_ == 0) done_.notify_all();
  return true;
}

void MaskFiller::wait() {
  std::unique_lock lock(mutex_);
  while (make_next(lock)) {
  }
  done_.wait(lock, [this] { return num_begun_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void MaskFiller::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stop_ || next_ < limits_.size(); });
    if (stop_) return;
    make_next(lock);
  }
}

}  // namespace deltaserve
