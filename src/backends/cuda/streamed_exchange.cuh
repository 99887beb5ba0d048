// The way of a streamed product's results (streamed_product.cu) out of the registers: through
// shared memory, over a cluster's blocks if K is divided among them.
#pragma once

#include <cstdint>

#include "backends/cuda/cluster.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/streamed_sums.cuh"

namespace deltaserve::cuda {

__device__ __forceinline__ float4 load_shared(uint32_t place) {
  float4 four;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(place)
               : "memory");
  return four;
}
__device__ __forceinline__ float load_shared_float(uint32_t place) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(place) : "memory");
  return value;
}
__device__ __forceinline__ void store_shared(uint32_t place, float4 four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(place), "f"(four.x), "f"(four.y),
               "f"(four.z), "f"(four.w)
               : "memory");
}

// Four floats on their way to shared memory, and the wait for all that this thread asked for so.
__device__ __forceinline__ void copy_async(uint32_t to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Four neighbouring sums of a thread in float4's order: rows g and g + 8 of 16, two tokens.
template <int N>
__device__ __forceinline__ float4 four_of(const float (&sums)[N], int p) {
  return make_float4(sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]);
}

// The way of a band's sums out of the registers, through shared memory behind the ring: what is
// done with them is a short loop, with or without a cluster.
template <int kTokens, int kTiles>
struct StreamResults {
  static constexpr int kFours = kTokens / 8;  // of a tile and thread
  static constexpr int kAll = kTiles * kFours;
  static constexpr int kFourBytes = kStreamConsumers * 16;  // of all threads
  static constexpr int64_t bytes(int64_t blocks) {
    return (blocks == 1 ? kFours : blocks * ceil_div<int64_t>(kAll, blocks)) * kFourBytes;
  }

  uint32_t area;
  uint32_t received;  // barrier of what other blocks of the cluster add
  int blocks;
  int rank;

  // Vector i of those that block `source` has of another one's results.
  __device__ __forceinline__ uint32_t place(int source, int i) const {
    const int most = (kAll + blocks - 1) / blocks;
    return area + (source * most + i) * kFourBytes + threadIdx.x * 16;
  }

  // use(j, p, four) gets every four sums of this thread.
  template <typename Use>
  __device__ __forceinline__ void hand_out(const StreamSums<kTokens, kTiles>& sums,
                                           const Use& use) const {
#pragma unroll
    for (int j = 0; j < kTiles; ++j) {
#pragma unroll
      for (int p = 0; p < kFours; ++p) {
        store_shared(place(0, p), four_of(sums[j], p));
      }
#pragma unroll 1
      for (int p = 0; p < kFours; ++p) {
        use(j, p, load_shared(place(0, p)));
      }
    }
  }

  // The same of the sums over the blocks of the cluster in the order of K, for its one band. Each
  // block takes its part of the results and gets what the others have of it, which its barrier
  // counts: a barrier of the cluster would wait for all of this thread's loads and stores. With
  // `begin` nothing is given to others, who may not have begun yet; behind it they have. With
  // kKnown j and p are known when this is compiled, for more code.
  template <bool kKnown, typename Use>
  __device__ __forceinline__ void add_up(const StreamSums<kTokens, kTiles>& sums, bool begin,
                                         const Use& use) const {
    if (begin && threadIdx.x == 0) {
      const int own = (kAll - rank + blocks - 1) / blocks;
      mbarrier_arrive_expect(received, (blocks - 1) * own * kFourBytes);
    }
#pragma unroll
    for (int v = 0; v < kAll; ++v) {
      const uint32_t to = place(rank, v / blocks);
      const int taker = begin ? rank : v % blocks;
      if (taker == rank) {
        store_shared(to, four_of(sums[v / kFours], v % kFours));
      } else {
        store_counted(shared_address_at(to, taker), four_of(sums[v / kFours], v % kFours),
                      shared_address_at(received, taker));
      }
    }
    if (begin) {
      __syncwarp();
      cluster_arrive_relaxed();
      cluster_wait();
    } else {
      mbarrier_wait_cluster(received, 0);
    }
#pragma unroll(kKnown ? kAll : 1)
    for (int v = 0; v < kAll; ++v) {
      if (v % blocks != rank) {
        continue;
      }
      float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 1
      for (int source = 0; source < blocks; ++source) {
        const float4 part = load_shared(place(source, v / blocks));
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
        sum.w += part.w;
      }
      use(v / kFours, v % kFours, sum);
    }
  }
};

}  // namespace deltaserve::cuda
