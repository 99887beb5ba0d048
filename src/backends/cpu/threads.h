// Compute threads: the one OpenMP team of the process. Every thread runs with denormals flushed
// (FTZ and DAZ): a recurrent state that decays below 1e-38 would make a step 26 times slower.
// Work is split so that results never depend on how many threads there are.
#pragma once

#include <cstdint>

#include "backends/cpu/function_ref.h"

namespace deltaserve {

struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Part `index` of `parts` nearly equal contiguous parts of [0, count).
inline IndexRange split_range(int64_t count, int64_t parts, int64_t index) {
  return {count * index / parts, count * (index + 1) / parts};
}

// One thread's place in a running team.
struct Team {
  int32_t thread = 0;
  int32_t size = 1;

  void barrier() const;  // must be reached by every thread of the team
  IndexRange share(int64_t count) const { return split_range(count, size, thread); }
};

// Runs body(team) on `threads` threads and waits. An exception of a body is rethrown here; a body
// that throws must not have passed fewer barriers than the others.
void parallel_region(int32_t threads, FunctionRef<void(const Team&)> body);

// body(begin, end, thread) on contiguous shares of [0, count), each of at least `grain` items;
// little work stays on the calling thread.
void parallel_for(int32_t threads, int64_t count, int64_t grain,
                  FunctionRef<void(int64_t, int64_t, int32_t)> body);

// body(index, thread) for every index, handed out in ascending order to whoever is free.
void parallel_dynamic(int32_t threads, int64_t count, FunctionRef<void(int64_t, int32_t)> body);

}  // namespace deltaserve
