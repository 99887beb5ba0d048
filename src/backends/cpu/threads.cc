#include "backends/cpu/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "backends/cpu/thread_binding.h"

// The two calls of the OpenMP runtime that are needed; not every compiler that reads this file (the
// linter's) has omp.h beside it.
extern "C" {
int omp_get_thread_num();
int omp_get_num_threads();
}

namespace deltaserve {
namespace {

// Flush denormals on this thread while it lives. OpenMP workers do not inherit the caller's MXCSR,
// and the caller gets its own back.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | kFtzDaz);
  }
  ~FlushDenormals() {
    _mm_setcsr(saved_);
  }
#else
  FlushDenormals() = default;
  ~FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFtzDaz = 0x8040;  // MXCSR bits 15 (FTZ) and 6 (DAZ)
  unsigned saved_;
#endif
};

}  // namespace

void Team::barrier() const {
  if (size > 1) {
#pragma omp barrier
  }
}

void parallel_region(int32_t threads, FunctionRef<void(const Team&)> body) {
  if (threads <= 1) {
    const FlushDenormals flush;
    body(Team{});
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_mutex;
#pragma omp parallel num_threads(threads)
  {
    const FlushDenormals flush;
    try {
      follow_thread_binding(omp_get_thread_num());
      body(Team{.thread = omp_get_thread_num(), .size = omp_get_num_threads()});
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      failure = std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

// OpenMP keeps the threads of the last region alone: a region of fewer ends the others, and the
// next larger one starts them again (GCC's runtime). So a region has one thread or all of them.
void parallel_for(int32_t threads, int64_t count, int64_t grain,
                  FunctionRef<void(int64_t, int64_t, int32_t)> body) {
  const int64_t parts = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, threads);
  parallel_region(parts > 1 ? threads : 1, [&](const Team& team) {
    // A team may be smaller than asked for (OMP_THREAD_LIMIT).
    for (int64_t part = team.thread; part < parts; part += team.size) {
      const IndexRange range = split_range(count, parts, part);
      if (range.begin < range.end) {
        body(range.begin, range.end, team.thread);
      }
    }
  });
}

void parallel_dynamic(int32_t threads, int64_t count, FunctionRef<void(int64_t, int32_t)> body) {
  std::atomic<int64_t> next = 0;
  parallel_region(count > 1 ? threads : 1, [&](const Team& team) {
    for (int64_t index = next.fetch_add(1); index < count; index = next.fetch_add(1)) {
      body(index, team.thread);
    }
  });
}

}  // namespace deltaserve
