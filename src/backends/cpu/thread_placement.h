// Which memory node and core each compute thread gets. Consecutive threads fill a node, so what is
// shared out among threads in contiguous parts is shared out among nodes the same way: a weight's
// panels lie where the threads are that read them. A pure plan; thread_binding.h and numa_memory.h
// carry it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/numa_topology.h"
#include "backends/cpu/threads.h"
#include "base/error.h"

namespace deltaserve {

// Nodes among which work is shared out: two sockets of four are half of it.
inline constexpr int32_t kMaxPlacedNodes = 16;

struct NodeShare {
  int32_t node = 0;
  int32_t first_thread = 0;
  int32_t num_threads = 0;
  std::vector<int32_t> cpus;  // one a thread; none: its threads are not bound
};

struct ThreadPlacement {
  int32_t threads = 1;
  std::vector<NodeShare> nodes;  // two or more, or none: nothing is placed
  std::string why_none = "not asked for";

  bool active() const { return !nodes.empty(); }
  int32_t num_parts() const { return active() ? static_cast<int32_t>(nodes.size()) : 1; }
  // The index in `nodes` of a thread's node; 0 without nodes.
  int32_t part_of(int32_t thread) const;
  // What of [0, count) belongs to a part; all of it without nodes.
  IndexRange share(int64_t count, int32_t part) const;
  // What of [0, count) belongs to a thread: contiguous shares of its node's.
  IndexRange thread_share(IndexRange of_part, int32_t thread) const;
};

// Threads on nodes by their number of cores, one a core; on second hardware threads only if there
// are more threads than cores.
ThreadPlacement plan_placement(const NumaTopology& topology, int32_t threads);

// The plan of a backend with these options on this machine. Errors: its topology cannot be read.
Result<ThreadPlacement> cpu_placement(const CpuOptions& options);

// One line: what is done, or why nothing is.
std::string describe_placement(const ThreadPlacement& placement);

}  // namespace deltaserve
