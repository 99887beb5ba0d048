// What a chunk of the delta rule needs of its scalars: running sums of log decays, betas, inverse
// norms of k and q, and the factors on rows and columns made of them (see delta_rule_chunks.cuh).
#pragma once

#include "backends/cuda/delta_rule_inverse.cuh"
#include "backends/cuda/delta_rule_operand.cuh"
#include "backends/cuda/delta_rule_sequences.cuh"

namespace deltaserve::cuda {

inline constexpr float kL2Eps = 1e-6F;                      // inside the root
inline constexpr float kQueryScale = 0.08838834764831845F;  // 128^-0.5

// What a lane of the first two warps needs of its rows 2 lane and 2 lane + 1: a in the first, b in
// the second. Read long before it is used.
struct GateInputs {
  bf16 x[2];
  float A_log = 0.0F;
  float dt_bias = 0.0F;
};

__device__ __forceinline__ bool has_row(const Chunk& chunk, int row) {
  return row >= chunk.begin && row < chunk.end;
}

__device__ __forceinline__ GateInputs load_gates(const ChunkedRule& rule, const Chunk& chunk,
                                                 int head, int warp, int lane) {
  GateInputs inputs{};
  if (warp > 1) {
    return inputs;
  }
  const bf16* from = (warp == 0 ? rule.a : rule.b) + head;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 2 * lane + i;
    if (has_row(chunk, row)) {
      inputs.x[i] = from[(int64_t{chunk.row} + row) * rule.ba_stride];
    }
  }
  inputs.A_log = rule.A_log[head];
  inputs.dt_bias = rule.dt_bias[head];
  return inputs;
}

// By the first warp: G, and the decays from the first rows of the blocks. Rows that are not the
// sequence's have g = 0, which changes nothing.
__device__ __forceinline__ void make_decays(const GateInputs& inputs, const Chunk& chunk,
                                            HeadScratch& scratch, int lane) {
  const float rate = -expf(inputs.A_log);
  float g[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float x = to_float(inputs.x[i]) + inputs.dt_bias;
    g[i] = has_row(chunk, 2 * lane + i) ? rate * softplus(x) : 0.0F;
  }
  float total = g[0] + g[1];
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const float before = __shfl_up_sync(kAllLanes, total, step);
    total += lane >= step ? before : 0.0F;
  }
  const float before = __shfl_up_sync(kAllLanes, total, 1);
  const float sum[2] = {lane == 0 ? g[0] : before + g[0], total};
  *reinterpret_cast<float2*>(&scratch.sum[2 * lane]) = make_float2(sum[0], sum[1]);
#pragma unroll
  for (int block = 0; block < 3; ++block) {
    const float first = __shfl_sync(kAllLanes, sum[0], 8 * (block + 1));
    *reinterpret_cast<float2*>(&scratch.from_block[block][2 * lane]) =
        make_float2(decay(first - sum[0]), decay(first - sum[1]));
  }
}

// By the second warp: beta, 0 for rows that are not the sequence's.
__device__ __forceinline__ void make_beta(const GateInputs& inputs, const Chunk& chunk,
                                          HeadScratch& scratch, int lane) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 2 * lane + i;
    scratch.beta[row] = has_row(chunk, row) ? sigmoid(to_float(inputs.x[i])) : 0.0F;
  }
}

// 1 / |row| times `scale` from the squares on the diagonal of a product of rows with themselves, in
// accumulator layout.
__device__ __forceinline__ void put_norms(const float (&products)[32], float* norm, float scale,
                                          int warp, int lane) {
  float low = 0.0F;  // of row 16 warp + lane / 4
  float high = 0.0F;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    low = w == warp ? (lane / 4 % 2 == 0 ? products[8 * w] : products[8 * w + 1]) : low;
    high = w == warp ? (lane / 4 % 2 == 0 ? products[8 * w + 6] : products[8 * w + 7]) : high;
  }
  if (lane % 4 == lane / 8) {
    norm[16 * warp + lane / 4] = rsqrtf(low + kL2Eps) * scale;
    norm[16 * warp + lane / 4 + 8] = rsqrtf(high + kL2Eps) * scale;
  }
}

// What a row of K or Q, `index` below or from 64 on, is multiplied with where it becomes float16;
// of its norm the rest stays a factor.
__device__ __forceinline__ float row_scale(const HeadScratch& scratch, int index) {
  return power_of_two(scratch.norm[index] * (index < kChunkSize ? 1.0F : 1.0F / kQueryScale));
}

// The factors that the carried state needs, of one row: rk e^G, rq e^G, rk e^(G_C - G), e^G_C.
template <typename Operand>
__device__ __forceinline__ void store_factors(const HeadScratch& scratch, float* to, int row) {
  const float end = scratch.sum[kChunkSize - 1];
  const float grown = decay(scratch.sum[row]);
  float k = scratch.norm[row];
  float q = scratch.norm[kChunkSize + row];
  if constexpr (kScaled<Operand>) {
    k /= row_scale(scratch, row);
    q /= row_scale(scratch, kChunkSize + row);
  }
  to[row] = k * grown;
  to[kChunkSize + row] = q * grown;
  to[2 * kChunkSize + row] = k * decay(end - scratch.sum[row]);
  if (row == 0) {
    to[3 * kChunkSize] = decay(end);
  }
}

}  // namespace deltaserve::cuda
