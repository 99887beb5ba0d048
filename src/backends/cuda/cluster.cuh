// Thread block clusters of sm_90: the launch, barriers over the blocks of a cluster, arrivals at
// each other's mbarriers and copies that go to all of them.
#pragma once

#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {

// The configuration of a launch with `size` neighbouring blocks a cluster. If `early`, the kernel
// may start early as by launch_early.
class ClusterConfig {
 public:
  ClusterConfig(const CudaContext& context, unsigned size, const LaunchShape& shape, bool early) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim.x = size;
    attributes_[0].val.clusterDim.y = 1;
    attributes_[0].val.clusterDim.z = 1;
    attributes_[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[1].val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = shape.grid;
    config_.blockDim = shape.block;
    config_.dynamicSmemBytes = shape.shared_bytes;
    config_.stream = context.stream;
    config_.attrs = attributes_;
    config_.numAttrs = early ? 2 : 1;
  }
  ClusterConfig(const ClusterConfig&) = delete;
  ClusterConfig& operator=(const ClusterConfig&) = delete;

  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2]{};
  cudaLaunchConfig_t config_{};
};

template <typename... Params, typename... Args>
void launch_cluster(const CudaContext& context, void (*kernel)(Params...), unsigned size,
                    const LaunchShape& shape, Args&&... args) {
  const ClusterConfig config(context, size, shape, false);
  check_cuda(
      cudaLaunchKernelEx(config.get(), kernel, static_cast<Params>(std::forward<Args>(args))...));
}

// The same for a kernel that may start early.
template <typename... Params, typename... Args>
void launch_cluster_early(const CudaContext& context, void (*kernel)(Params...), unsigned size,
                          const LaunchShape& shape, Args&&... args) {
  const ClusterConfig config(context, size, shape, true);
  check_cuda(
      cudaLaunchKernelEx(config.get(), kernel, static_cast<Params>(std::forward<Args>(args))...));
}

__device__ __forceinline__ int cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

// Barrier of all threads of the cluster that have not ended, in two halves or at once; shared
// memory written before is visible.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
// The first half where nothing was written but barriers, behind mbarrier_init_fence: the other form
// waits for all loads that are on the way.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Arrives at the barrier that lies at this place in the shared memory of block `rank`.
__device__ __forceinline__ void mbarrier_arrive_at(uint32_t barrier, int rank) {
  asm volatile(
      "{\n"
      ".reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// This place in the shared memory of block `rank`, as an address that all of the cluster can use.
__device__ __forceinline__ uint32_t shared_address_at(uint32_t place, int rank) {
  uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place), "r"(rank));
  return there;
}

// Stores to such addresses; the barrier of the same block counts the bytes as they land.
__device__ __forceinline__ void store_counted(uint32_t to, float value, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to),
      "f"(value), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void store_counted(uint32_t to, float2 pair, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::
          "r"(to),
      "f"(pair.x), "f"(pair.y), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void store_counted(uint32_t to, float4 four, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(to),
      "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w), "r"(barrier)
      : "memory");
}

// mbarrier_wait for what other blocks of the cluster stored.
__device__ __forceinline__ void mbarrier_wait_cluster(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra end_%=;\n"
      "bra again_%=;\n"
      "end_%=:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// As tensor_load, to the same place in all blocks of `mask`, each with its own barrier there.
__device__ __forceinline__ void tensor_load_multicast(uint32_t to, const CUtensorMap& map,
                                                      int32_t column, int32_t row, uint32_t barrier,
                                                      uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(mask)
      : "memory");
}

}  // namespace deltaserve::cuda
