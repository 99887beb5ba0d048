// Moving bytes: between host and device through pinned buffers, and on the device with kernels (a
// memcpy node reaches two thirds of a kernel's bandwidth there).
#pragma once

#include <array>
#include <cstddef>

#include "backends/cuda/cuda_context.h"

namespace deltaserve {

// A ring of page-locked buffers. A copy from pageable memory would wait for the stream and run at a
// third of the bus's speed; here the caller's memory is free again when the call returns, and the
// transfer follows in the stream's order.
class PinnedRing {
 public:
  explicit PinnedRing(cudaStream_t stream);
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;
  ~PinnedRing();

  void to_device(void* to, const void* from, size_t bytes);
  void to_host(void* to, const void* from, size_t bytes);  // waits until the bytes are there

  // 4 buffers of 4 MiB: long enough for the bus's full speed, short enough to overlap.
  static constexpr size_t kSlots = 4;
  static constexpr size_t kSlotBytes = size_t{4} << 20;

 private:
  struct Slot {
    std::byte* memory = nullptr;
    cudaEvent_t done = nullptr;  // the last transfer of this buffer
  };
  Slot& next();

  cudaStream_t stream_;
  std::array<Slot, kSlots> slots_;
  size_t used_ = 0;
};

// Copies within the device; the regions do not overlap.
void launch_copy(const CudaContext& context, void* to, const void* from, size_t bytes);

// Where rows of a source go in a matrix of X: row r to r, or, grouped, into every second group of
// kGateUpGroup rows, beginning with group `first_group` (0 gate, 1 up).
struct RowPlacement {
  bool grouped = false;
  int64_t first_group = 0;
  int64_t first_row = 0;  // of the source's rows in the whole part
};

// Converts `rows` x K of `from` (kF32, kBF16 or kF16, device memory) to X and places them.
void launch_place_rows(const CudaContext& context, void* to, const void* from, DType from_dtype,
                       int64_t rows, int64_t K, const RowPlacement& placement);

// Whether the current device can run the kernels of this build.
bool has_kernel_image();

}  // namespace deltaserve
