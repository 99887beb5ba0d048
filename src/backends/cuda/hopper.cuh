// PTX of sm_90 that CUDA C++ has no words for: mbarriers, bulk and tensor copies into shared memory
// and the fences between the two views ("proxies") of it. Shared memory is named by its 32-bit
// address. See the PTX ISA, sections on mbarrier, cp.async.bulk and fence.proxy.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace deltaserve::cuda {

// Whether the code being compiled is for sm_90a, the only target that has all of this. A kernel
// that needs it is empty for others, where the host must not choose it.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kHopperCode = true;
#else
inline constexpr bool kHopperCode = false;
#pragma nv_diag_suppress 177  // functions that only such a kernel calls
#endif

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the copy engine.
__device__ __forceinline__ void mbarrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and makes the phase wait for `bytes` of copies as well.
__device__ __forceinline__ void mbarrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// Waits for the end of the phase of this parity: 0 for the first, then in turn.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra end_%=;\n"
      "bra again_%=;\n"
      "end_%=:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Copies `bytes` (a multiple of 16) of global memory to shared memory; `barrier` counts them.
__device__ __forceinline__ void bulk_load(uint32_t to, const void* from, uint32_t bytes,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

// Has the copy engine fetch a tensor's description, for which its first copy waits otherwise.
__device__ __forceinline__ void fetch_tensor_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Copies the box of a two-dimensional tensor that starts at (column, row); parts outside the tensor
// read as zero, and a coordinate may be negative.
__device__ __forceinline__ void tensor_load(uint32_t to, const CUtensorMap& map, int32_t column,
                                            int32_t row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

// The same of a tensor of three dimensions.
__device__ __forceinline__ void tensor_load(uint32_t to, const CUtensorMap& map, int32_t column,
                                            int32_t middle, int32_t row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(column), "r"(middle), "r"(row), "r"(barrier)
      : "memory");
}

// What this thread wrote to shared memory becomes visible to copies and to wgmma.
__device__ __forceinline__ void async_proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Barrier `Id` of `Threads` threads of the block; 0 is __syncthreads'.
template <int Threads>
__device__ __forceinline__ void named_barrier(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(Threads) : "memory");
}

// Arrives at such a barrier without waiting; counts among its `Threads`.
template <int Threads>
__device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(Threads) : "memory");
}

// Gives registers of this warpgroup back, or takes what others gave back.
template <int Registers>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace deltaserve::cuda
