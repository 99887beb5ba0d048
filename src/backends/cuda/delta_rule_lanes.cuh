// A lane's columns of what the delta rule reads and writes a token at a time (delta_rule_step.cuh):
// rows of the state, and keys and queries with their norms taken out.
#pragma once

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "ops/delta_args.h"

namespace deltaserve::cuda {

template <int N>
__device__ __forceinline__ float dot(const float (&a)[N], const float (&b)[N]) {
  float sum = 0.0F;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    sum = fmaf(a[i], b[i], sum);
  }
  return sum;
}

// A lane's columns of a row of `dk`: 4 lane .. 4 lane + 3, and 128 further if there are eight.
template <int N, typename T>
__device__ __forceinline__ void load_columns(float (&to)[N], const T* row, int lane, int dk) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    float part[4] = {};
    if (lane * 4 + i * kWarp < dk) {
      load<4>(row + lane * 4 + i * kWarp, part);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to[i + j] = part[j];
    }
  }
}

// Four values to global memory as one store, where nvcc 13.0 makes four of an assignment.
__device__ __forceinline__ void store_four(float* to, const float* from) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(from[0]), "f"(from[1]),
               "f"(from[2]), "f"(from[3])
               : "memory");
}

// The counterpart of load_columns.
template <int N>
__device__ __forceinline__ void store_columns(float* row, const float (&from)[N], int lane,
                                              int dk) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    if (lane * 4 + i * kWarp < dk) {
      store_four(row + lane * 4 + i * kWarp, from + i);
    }
  }
}

// k and q of a token with their norms taken out, and k . q.
template <int N>
struct KeyQuery {
  float k[N];
  float q[N];
  float product = 0.0F;
};

template <int N, typename X>
__device__ __forceinline__ KeyQuery<N> load_key_query(const X* key, const X* query, int lane,
                                                      int dk) {
  KeyQuery<N> x;
  load_columns<N>(x.k, key, lane, dk);
  load_columns<N>(x.q, query, lane, dk);
  const float k_norm = rsqrtf(warp_sum(dot(x.k, x.k)) + kL2Eps);
  const float q_norm = rsqrtf(warp_sum(dot(x.q, x.q)) + kL2Eps) * rsqrtf(static_cast<float>(dk));
  x.product = warp_sum(dot(x.k, x.q)) * k_norm * q_norm;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x.k[i] *= k_norm;
    x.q[i] *= q_norm;
  }
  return x;
}

}  // namespace deltaserve::cuda
