// What every CPU op gets beside its arguments: how many threads, which dtype and instruction set,
// and scratch memory. One op runs at a time, so each uses the scratch from its start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/thread_placement.h"
#include "ops/backend.h"
#include "tensor/dtype.h"

namespace deltaserve {

struct CpuKernels;

class CpuContext {
 public:
  CpuContext(DType dtype, CpuIsa instruction_set, int32_t thread_count,
             ThreadPlacement thread_placement = {});

  const DType compute_dtype;  // X: kF32 or kBF16
  const CpuIsa isa;
  const int32_t threads;
  const CpuKernels* const kernels;  // the table of `isa`
  const ThreadPlacement placement;  // of weights made here, and of who reads them

  // The largest step there will be; zeros until `reserve`.
  StepLimits limits;

  // Grows the scratch of every thread, or the shared one, to at least `bytes` (64-byte aligned).
  // Called where shapes become known: at load, and by an op for the largest step of `limits`, so
  // that only its first call finds something to do. Throws std::bad_alloc if memory is exhausted.
  void require_thread_scratch(size_t bytes);
  void require_shared_scratch(size_t bytes);

  template <typename T>
  T* thread_scratch(int32_t thread) const {
    return reinterpret_cast<T*>(thread_scratch_[static_cast<size_t>(thread)].data());
  }
  template <typename T>
  T* shared_scratch() const {
    return reinterpret_cast<T*>(shared_scratch_.data());
  }
  size_t thread_scratch_bytes() const { return thread_scratch_bytes_; }  // at least 1 MiB
  size_t shared_scratch_bytes() const { return shared_scratch_.size(); }

 private:
  std::vector<HugeBuffer> thread_scratch_;
  size_t thread_scratch_bytes_ = 0;
  HugeBuffer shared_scratch_;
};

}  // namespace deltaserve
