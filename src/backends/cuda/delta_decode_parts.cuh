// What the fused decode kernel of a delta layer is made of beside the rule: its arguments, shared
// memory, and a lane's four channels of the convolution.
#pragma once

#include "backends/cuda/causal_conv1d.cuh"
#include "backends/cuda/delta_rule_lanes.cuh"
#include "backends/cuda/delta_rule_step.cuh"
#include "backends/cuda/device_vectors.cuh"

namespace deltaserve::cuda {

inline constexpr int kDecodeDim = 128;  // dk and dv
// Threads of a block whose warps have so many value rows each.
template <int Rows>
inline constexpr int kDecodeThreads = kDecodeDim / Rows* kWarp;
// Warps with a part of their own beside the rows.
inline constexpr int kQueryWarp = 0;
inline constexpr int kKeyWarp = 1;
inline constexpr int kValueWarp = 2;
inline constexpr int kNormWarp = 3;
inline constexpr int kGateWarp = 4;
inline constexpr int kConvWarps = 3;

template <typename X>
struct DeltaDecode {
  const int32_t* context_lens;  // [B]
  const int32_t* state_slots;   // [B]
  int32_t num_k_heads;
  int32_t num_v_heads;
  const X* x;  // [B, C] q | k | v before the convolution
  int64_t x_stride;
  const float* conv_weight;  // [C, 4]
  float* conv_state;         // [slots, 3, C]
  const X* b;                // [B, Hv]
  const X* a;                // [B, Hv]
  int64_t ba_stride;
  const float* A_log;    // [Hv]
  const float* dt_bias;  // [Hv]
  float* state;          // [slots][Hv][dv][dk]
  const X* z;            // [B, Hv, dv]
  int64_t z_stride;
  const float* norm_weight;  // [dv]
  float eps;
  X* out;  // [B, Hv * dv]
  int64_t out_stride;
  int32_t* readers;  // [B, Hk] blocks that have read a key head's history; 0 before and after
  int32_t early_blocks = 0;  // that read their state before the kernel in front has ended;
  bool fetches = false;      // the others fetch it into the second-level cache by then
};

template <typename X, typename State>
struct DeltaDecodeShared {
  typename State::Shared state;
  alignas(16) X conv[kConvWarps][kDecodeDim];  // q, k, v after the convolution
  float history[2][kConvHistory][kDecodeDim];  // of q and k after this step
  float out[kDecodeDim];                       // of the rule, rounded to X
  alignas(8) TokenGates gates;
};

// Four channels of a lane in the convolution.
template <typename X>
struct ConvLane {
  float weight[4][4];
  float last[kConvHistory][4];
  float x[4];

  __device__ __forceinline__ void load_weight(const DeltaDecode<X>& decode, int64_t c) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load<4>(decode.conv_weight + (c + i) * 4, weight[i]);
    }
  }
  __device__ __forceinline__ void load_history(const float* history, int64_t C, bool fresh) {
#pragma unroll
    for (int i = 0; i < kConvHistory; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        last[i][j] = 0.0F;
      }
      if (!fresh) {
        load<4>(history + i * C, last[i]);
      }
    }
  }
  __device__ __forceinline__ void store_output(X* to) const {
    float out[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      out[j] = conv_output<X>(weight[j], last[0][j], last[1][j], last[2][j], x[j]);
    }
    store<4>(to, out);
  }
  // The inputs before the next token to shared memory, rows of kDecodeDim, or to the slot, rows of
  // C.
  __device__ __forceinline__ void keep_history(float* to) const {
    store<4>(to, last[1]);
    store<4>(to + kDecodeDim, last[2]);
    store<4>(to + 2 * kDecodeDim, x);
  }
  __device__ __forceinline__ void store_history(float* to, int64_t C) const {
    store_four(to, last[1]);
    store_four(to + C, last[2]);
    store_four(to + 2 * C, x);
  }
};

// Counts this block among the `all` readers of its key head's history, by one lane after a barrier
// of the block: how many have been before. The last makes the count zero again. No fence: what the
// others read went through their barrier before they counted, so it is not on the way any more.
// Nothing waits for the answer before it is used; ptxas gives atomicAdd a shuffle that does.
__device__ __forceinline__ int32_t count_reader(int32_t* readers, int all) {
  return static_cast<int32_t>(
      atomicInc(reinterpret_cast<unsigned*>(readers), static_cast<unsigned>(all - 1)));
}

}  // namespace deltaserve::cuda
