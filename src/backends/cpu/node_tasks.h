// Tasks of one op that are handed out one by one, by memory node: a thread takes those whose
// weights lie on its node, and when they are gone helps the other nodes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "backends/cpu/thread_placement.h"

namespace deltaserve {

class NodeTasks {
 public:
  // `count_of(part)` tasks for each of the placement's parts.
  template <typename F>
  NodeTasks(const ThreadPlacement& placement, F&& count_of)
      : placement_(placement), parts_(placement.num_parts()) {
    for (int32_t part = 0; part < parts_; ++part) {
      queues_[static_cast<size_t>(part)].count = count_of(part);
    }
  }

  // body(part, index) for indices of [0, the part's count), each once over all threads.
  template <typename F>
  void run(int32_t thread, F&& body) {
    const int32_t own = placement_.part_of(thread);
    for (int32_t i = 0; i < parts_; ++i) {
      const int32_t part = (own + i) % parts_;
      Queue& queue = queues_[static_cast<size_t>(part)];
      for (int64_t index = queue.next.fetch_add(1); index < queue.count;
           index = queue.next.fetch_add(1)) {
        body(part, index);
      }
    }
  }

 private:
  struct alignas(64) Queue {
    std::atomic<int64_t> next = 0;
    int64_t count = 0;
  };

  const ThreadPlacement& placement_;
  int32_t parts_;
  std::array<Queue, kMaxPlacedNodes> queues_;
};

}  // namespace deltaserve
