// A placement on two nodes that are both the machine's node 0: work and panels are shared out as on
// two, on any machine.
#pragma once

#include "backends/cpu/thread_placement.h"

namespace deltaserve {

// The first node gets the smaller half of the threads, which are not bound.
inline ThreadPlacement same_node_twice(int32_t threads) {
  const int32_t first = threads / 2;
  return {
      .threads = threads,
      .nodes = {{.node = 0, .first_thread = 0, .num_threads = first, .cpus = {}},
                {.node = 0, .first_thread = first, .num_threads = threads - first, .cpus = {}}}};
}

}  // namespace deltaserve
