#include "backends/cpu/cpu_context.h"

#include <new>
#include <utility>

#include "backends/cpu/kernels.h"
#include "base/check.h"

namespace deltaserve {
namespace {

// Scratch every op may count on without asking: a 64 KiB state, tiles and score rows fit.
constexpr size_t kMinThreadScratch = size_t{1} << 20;

HugeBuffer allocate_or_throw(size_t bytes) {
  Result<HugeBuffer> buffer = HugeBuffer::allocate(bytes);
  if (!buffer) {
    throw std::bad_alloc();
  }
  return std::move(*buffer);
}

// Work is always shared out among all threads of the context.
ThreadPlacement for_threads(ThreadPlacement placement, int32_t threads) {
  DS_CHECK(!placement.active() || placement.threads == threads);
  placement.threads = threads;
  return placement;
}

}  // namespace

CpuContext::CpuContext(DType dtype, CpuIsa instruction_set, int32_t thread_count,
                       ThreadPlacement thread_placement)
    : compute_dtype(dtype),
      isa(instruction_set),
      threads(thread_count),
      kernels(&cpu_kernels(instruction_set)),
      placement(for_threads(std::move(thread_placement), thread_count)) {
  thread_scratch_.resize(static_cast<size_t>(threads));
  require_thread_scratch(kMinThreadScratch);
}

void CpuContext::require_thread_scratch(size_t bytes) {
  if (bytes <= thread_scratch_bytes_) {
    return;
  }
  for (HugeBuffer& buffer : thread_scratch_) {
    buffer = allocate_or_throw(bytes);
  }
  thread_scratch_bytes_ = bytes;
}

void CpuContext::require_shared_scratch(size_t bytes) {
  if (bytes > shared_scratch_.size()) {
    shared_scratch_ = allocate_or_throw(bytes);
  }
}

}  // namespace deltaserve
