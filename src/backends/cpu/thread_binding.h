// Binds compute threads to the cores of a placement while it lives. Threads follow at the start of
// their next region, since each thread that calls into a team has workers of its own. The newest
// binding of the process counts.
#pragma once

#include <cstdint>

#include "backends/cpu/thread_placement.h"

namespace deltaserve {

class ThreadBinding {
 public:
  // Workers, one a core. Nothing if the placement has no nodes or no CPUs.
  explicit ThreadBinding(const ThreadPlacement& placement);
  ThreadBinding(const ThreadBinding&) = delete;
  // Threads get back what the process had; the calling one at once.
  ~ThreadBinding();

  // From now on callers of regions too, to the cores of the first node: threads that they start
  // later begin there. For when weights are loaded, which starts threads for other work.
  void bind_callers();

 private:
  uint64_t id_ = 0;  // 0: nothing is bound
};

// For thread `thread` of a team, when a region begins: cheap if nothing has changed.
void follow_thread_binding(int32_t thread);

}  // namespace deltaserve
