// Thread block clusters of sm_90: the launch, barriers over the blocks of a cluster, arrivals at
// each other's mbarriers and copies that go to all of them.
#pragma once

#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {

// As `launch`, with `size` neighbouring blocks a cluster.
template <typename... Params, typename... Args>
void launch_cluster(const CudaContext& context, void (*kernel)(Params...), unsigned size,
                    const LaunchShape& shape, Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = size;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = context.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(std::forward<Args>(args))...));
}

__device__ __forceinline__ int cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

// Barrier of all threads of the cluster; shared memory written before is visible.
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
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
