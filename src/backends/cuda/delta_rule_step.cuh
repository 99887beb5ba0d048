// A token of the delta rule over the value rows that a warp holds: with S as loaded, m = S k and
// y = S q are both reduced at once,
//   d = beta (v - e^g m),   o = e^g y + d (k . q),   S <- e^g S + d k^T
// A lane has four neighbouring columns of each row (eight above dk = 128). The 2 Rows sums cross
// the lanes together: in each of five exchanges a lane gives half of its sums away and adds what it
// gets to the rest. The order of a sum depends on dk only, and every product that is added to
// something is fused by name, so that all kernels made of this give a token the same bits.
#pragma once

#include "backends/cuda/delta_rule_lanes.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

// Sums over the lanes of N values each: lane l ends with the sum of value l / (32 / N) in x[0].
template <int N, int Offset = kWarp / 2>
__device__ __forceinline__ void sum_across(float* x, int lane) {
  if constexpr (N > 1) {
    const bool upper = (lane & Offset) != 0;
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const float given = upper ? x[i] : x[i + N / 2];
      const float kept = upper ? x[i + N / 2] : x[i];
      x[i] = kept + __shfl_xor_sync(kAllLanes, given, Offset);
    }
    if constexpr (Offset > 1) {
      sum_across<N / 2, Offset / 2>(x, lane);
    }
  } else {
#pragma unroll
    for (int offset = Offset; offset > 0; offset /= 2) {
      x[0] += __shfl_xor_sync(kAllLanes, x[0], offset);
    }
  }
}

// What a head's token does to the state beside its key: S <- e^g S, and how much of k.
struct TokenGates {
  float decay;  // e^g
  float beta;
};

// `rate` is -exp(A_log).
__device__ __forceinline__ TokenGates token_gates(float a, float b, float rate, float bias) {
  return {.decay = expf(rate * softplus(a + bias)), .beta = sigmoid(b)};
}

// Where the results of a warp's sums lie: a lane's is row `own`, of S k in the lower half of the
// lanes, else of S q.
template <int Rows>
struct SumLanes {
  static constexpr int kPerSum = kWarp / (2 * Rows);
  static __device__ __forceinline__ int own(int lane) { return lane / kPerSum % Rows; }
  // Whether this lane is the one that has row own(lane) of the output.
  static __device__ __forceinline__ bool has_output(int lane) {
    return lane >= kWarp / 2 && lane % kPerSum == 0;
  }
};

// What a token adds to the rows of a warp, `delta` times k: right in the lower half of the lanes,
// for row own(lane). `output` is right where has_output(lane).
struct TokenChange {
  float delta;
  float output;
};

// `sums`: this lane's part of S k of every row, then of S q. `v` is that of row own(lane).
template <int Rows>
__device__ __forceinline__ TokenChange token_change(float (&sums)[2 * Rows], float product, float v,
                                                    const TokenGates& gates, int lane) {
  sum_across<2 * Rows>(sums, lane);
  const float delta = gates.beta * fmaf(-gates.decay, sums[0], v);
  const float own_delta =
      __shfl_sync(kAllLanes, delta, SumLanes<Rows>::own(lane) * SumLanes<Rows>::kPerSum);
  return {.delta = delta, .output = fmaf(own_delta, product, gates.decay * sums[0])};
}

// Applies the change to this lane's columns of row r.
template <int Rows, int N>
__device__ __forceinline__ void change_row(float (&row)[N], int r, const TokenChange& change,
                                           const float (&k)[N], float decay) {
  const float d = __shfl_sync(kAllLanes, change.delta, r * SumLanes<Rows>::kPerSum);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    row[i] = fmaf(d, k[i], decay * row[i]);
  }
}

// Applies a token to S. `v` is that of row own(lane). Returns the output of that row where
// has_output(lane).
template <int Rows, int N>
__device__ __forceinline__ float apply_token(float (&S)[Rows][N], const KeyQuery<N>& x, float v,
                                             const TokenGates& gates, int lane) {
  float sums[2 * Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    sums[r] = dot(S[r], x.k);
    sums[Rows + r] = dot(S[r], x.q);
  }
  const TokenChange change = token_change<Rows>(sums, x.product, v, gates, lane);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    change_row<Rows>(S[r], r, change, x.k, gates.decay);
  }
  return change.output;
}

// Brings `bytes`, a multiple of 16, to the second level cache: what others still write there is in
// it too.
__device__ __forceinline__ void prefetch_to_l2(const void* from, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

}  // namespace deltaserve::cuda
