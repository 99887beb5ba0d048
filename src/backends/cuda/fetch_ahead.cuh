// Weights that a kernel asks for on behalf of the one after it, so that memory does not rest while
// both wait for each other: they come to the second-level cache, and nothing waits for them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "backends/cuda/cuda_weights.h"

namespace deltaserve::cuda {

struct FetchAhead {
  const std::byte* from;  // 16-byte aligned
  uint32_t bytes;         // 0: nothing
};

// Asks for part `part` of `parts` of the region; one thread calls it.
__device__ __forceinline__ void fetch_part(const FetchAhead& region, uint32_t part,
                                           uint32_t parts) {
#if __CUDA_ARCH__ >= 900
  constexpr uint32_t kLine = 128;
  const uint32_t size = (region.bytes / parts + kLine - 1) / kLine * kLine;
  const uint32_t first = part * size;
  if (first < region.bytes) {
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(region.from + first),
                 "r"(min(size, region.bytes - first))
                 : "memory");
  }
#endif
}

// The last `most` bytes of a weight: the product itself asks for its first ones early.
inline FetchAhead fetch_ahead_of(const LinearWeight* weight, int64_t most) {
  if (weight == nullptr) {
    return {};
  }
  const CudaMemory& values = static_cast<const CudaLinear&>(*weight).values;
  const int64_t all = static_cast<int64_t>(values.bytes()) / 128 * 128;
  const int64_t bytes = std::min(all, most);
  return {static_cast<const std::byte*>(values.data()) + (all - bytes),
          static_cast<uint32_t>(bytes)};
}

}  // namespace deltaserve::cuda
