// Where a warp of the fused decode kernel has its rows of the state between reading and writing
// them: in registers, or in shared memory, which a bulk copy fills. All forms add in the same
// order.
#pragma once

#include "backends/cuda/delta_decode_parts.cuh"
#include "backends/cuda/delta_rule_lanes.cuh"
#include "backends/cuda/delta_rule_step.cuh"
#include "backends/cuda/hopper.cuh"

namespace deltaserve::cuda {

// A lane's part of S k of every row of a warp, then of S q.
template <int Rows>
using TokenSums = float[2 * Rows];

// The policy of what leaves the second level cache first, and four values with it.
__device__ __forceinline__ uint64_t evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ void load_four(float (&to)[4], const float* from, uint64_t policy) {
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "l"(from), "l"(policy)
               : "memory");
}
__device__ __forceinline__ void store_four(float* to, const float* from, uint64_t policy) {
  asm volatile(
      "st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to),
      "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]), "l"(policy)
      : "memory");
}

// Two blocks a multiprocessor, on every device, or one of twice as many warps with half of the rows
// each. With `Once` the state leaves the second level cache first, so that what other kernels are
// to find there stays.
template <bool Once, int Rows>
struct RegisterState {
  static constexpr int kRows = Rows;  // value rows of a warp
  static constexpr int kBlocks = Rows / 8;
  static constexpr bool kStaged = false;
  struct Shared {};

  uint64_t policy = 0;
  float S[kRows][4];

  __device__ __forceinline__ RegisterState(Shared& /*shared*/, int /*warp*/) {
    if constexpr (Once) {
      policy = evict_first();
    }
  }

  // Begins to read the rows at `from`, or makes them zero.
  __device__ __forceinline__ void ask(const float* from, bool zero, int lane) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if constexpr (Once) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          S[r][i] = 0.0F;
        }
        if (!zero) {
          load_four(S[r], from + r * kDecodeDim + lane * 4, policy);
        }
      } else {
        load_columns<4>(S[r], from + r * kDecodeDim, lane, zero ? 0 : kDecodeDim);
      }
    }
  }
  __device__ __forceinline__ void multiply(const KeyQuery<4>& x, TokenSums<kRows>& sums,
                                           int /*lane*/) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sums[r] = dot(S[r], x.k);
      sums[kRows + r] = dot(S[r], x.q);
    }
  }
  // Changes the rows and writes them.
  __device__ __forceinline__ void store(const TokenChange& change, const KeyQuery<4>& x,
                                        float decay, float* to, int lane) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      change_row<kRows>(S[r], r, change, x.k, decay);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float* const at = to + r * kDecodeDim + lane * 4;
      if constexpr (Once) {
        store_four(at, S[r], policy);
      } else {
        store_four(at, S[r]);
      }
    }
  }
};

// Three blocks a multiprocessor of sm_90a. Nothing of the state takes room in the first level
// cache, of which there is little behind and in front of kernels that fill shared memory.
struct StagedState {
  static constexpr int kRows = 16;
  static constexpr int kBlocks = 3;
  static constexpr bool kStaged = true;
  static constexpr uint32_t kBytes = kRows * kDecodeDim * sizeof(float);
  struct Shared {
    alignas(128) float rows[kDecodeDim][kDecodeDim];
    uint64_t barriers[kDecodeDim / kRows];
  };

  float* rows;  // this warp's
  uint32_t barrier;

  __device__ __forceinline__ StagedState(Shared& shared, int warp)
      : rows(shared.rows[warp * kRows]), barrier(shared_address(shared.barriers + warp)) {}

  __device__ __forceinline__ void ask(const float* from, bool zero, int lane) {
    if (lane == 0) {
      mbarrier_init(barrier, 1);
      mbarrier_init_fence();
      mbarrier_arrive_expect(barrier, zero ? 0 : kBytes);
      if (!zero) {
        bulk_load(shared_address(rows), from, kBytes, barrier);
      }
    }
    if (zero) {
      constexpr float kZeros[4] = {};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        cuda::store<4>(rows + r * kDecodeDim + lane * 4, kZeros);
      }
    }
    __syncwarp();  // the barrier is there for all lanes
  }
  __device__ __forceinline__ void multiply(const KeyQuery<4>& x, TokenSums<kRows>& sums, int lane) {
    mbarrier_wait(barrier, 0);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float row[4];
      load<4>(rows + r * kDecodeDim + lane * 4, row);
      sums[r] = dot(row, x.k);
      sums[kRows + r] = dot(row, x.q);
    }
  }
  __device__ __forceinline__ void store(const TokenChange& change, const KeyQuery<4>& x,
                                        float decay, float* to, int lane) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float row[4];
      load<4>(rows + r * kDecodeDim + lane * 4, row);
      change_row<kRows>(row, r, change, x.k, decay);
      store_four(to + r * kDecodeDim + lane * 4, row);
    }
  }
};

}  // namespace deltaserve::cuda
