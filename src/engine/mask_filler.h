// Makes the masks of a step on threads of its own while the model runs its forward pass: they are
// needed only when tokens are drawn. A mask follows from its sequence's tokens alone, so it does
// not matter who makes it or when.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/grammar_limit.h"

namespace deltaserve {

class MaskFiller {
 public:
  explicit MaskFiller(int32_t num_threads);  // 0: wait() does the work
  ~MaskFiller();
  MaskFiller(const MaskFiller&) = delete;
  MaskFiller& operator=(const MaskFiller&) = delete;

  // The limits are the filler's until wait() has returned. Only when nothing is being made.
  void start(std::span<GrammarLimit* const> limits);
  // Helps with what is left. Throws what making a mask threw.
  void wait();

 private:
  void run();
  bool make_next(std::unique_lock<std::mutex>& lock);  // false: none is left

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::vector<GrammarLimit*> limits_;
  size_t next_ = 0;       // of limits_, to be begun
  size_t num_begun_ = 0;  // and not ended
  std::exception_ptr failure_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deltaserve
