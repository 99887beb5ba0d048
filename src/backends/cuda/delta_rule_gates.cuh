// What a chunk of the delta rule needs of its scalars: running sums of log decays, betas, inverse
// norms of k and q, and the factors on rows and columns made of them (see delta_rule_chunks.cuh).
#pragma once

#include "backends/cuda/delta_rule_operand.cuh"
#include "backends/cuda/delta_rule_sequences.cuh"
#include "backends/cuda/delta_rule_triangle.cuh"
#include "backends/cuda/device_math.cuh"
#include "ops/delta_args.h"

namespace deltaserve::cuda {

inline constexpr float kQueryScale = 0.08838834764831845F;  // 128^-0.5
inline constexpr float kLog2E = 1.4426950408889634F;

// What a lane needs of its rows 2 lane and 2 lane + 1 to make a value head's G from a, or its betas
// from b. Read long before it is used.
struct GateInputs {
  bf16 x[2];
  float A_log = 0.0F;
  float dt_bias = 0.0F;
};

__device__ __forceinline__ bool has_row(const Chunk& chunk, int row) {
  return row >= chunk.begin && row < chunk.end;
}

// `decays`: for G, else for beta; `head`: of the layer.
__device__ __forceinline__ GateInputs load_gates(const ChunkedRule& rule, const Chunk& chunk,
                                                 bool decays, int head, int lane) {
  GateInputs inputs{};
  const bf16* from = (decays ? rule.a : rule.b) + head;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 2 * lane + i;
    if (has_row(chunk, row)) {
      inputs.x[i] = from[(int64_t{chunk.row} + row) * rule.ba_stride];
    }
  }
  if (decays) {
    inputs.A_log = rule.A_log[head];
    inputs.dt_bias = rule.dt_bias[head];
  }
  return inputs;
}

// By a warp: G, and the decays from the first rows of the blocks. Rows that are not the
// sequence's have g = 0, which changes nothing.
__device__ __forceinline__ void make_decays(const GateInputs& inputs, const Chunk& chunk,
                                            HeadGates& gates, int lane) {
  const float rate = -expf(inputs.A_log) * kLog2E;
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
  *reinterpret_cast<float2*>(&gates.sum[2 * lane]) = make_float2(sum[0], sum[1]);
#pragma unroll
  for (int block = 0; block < kSteps - 1; ++block) {
    const float first = __shfl_sync(kAllLanes, sum[0], 8 * (block + 1));
    *reinterpret_cast<float2*>(&gates.from_block[block][2 * lane]) =
        make_float2(decay(first - sum[0]), decay(first - sum[1]));
  }
}

// By a warp: beta, 0 for rows that are not the sequence's.
__device__ __forceinline__ void make_beta(const GateInputs& inputs, const Chunk& chunk,
                                          HeadGates& gates, int lane) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = 2 * lane + i;
    gates.beta[row] = has_row(chunk, row) ? sigmoid(to_float(inputs.x[i])) : 0.0F;
  }
}

// 1 / |row| times `scale` of the warp's 16 rows, from the block on the diagonal of a product of
// rows with themselves, in accumulator layout.
__device__ __forceinline__ void put_norms(const float (&products)[2][4], float* norm, float scale,
                                          int warp, int lane) {
  const bool odd = lane / 4 % 2 == 1;
  const float low = odd ? products[0][1] : products[0][0];  // of row 16 warp + lane / 4
  const float high = odd ? products[1][3] : products[1][2];
  if (lane % 4 == lane / 8) {
    norm[16 * warp + lane / 4] = rsqrtf(low + kL2Eps) * scale;
    norm[16 * warp + lane / 4 + 8] = rsqrtf(high + kL2Eps) * scale;
  }
}

// What a row of K or Q, `index` below or from 64 on, is multiplied with where it becomes float16;
// of its norm the rest stays a factor.
__device__ __forceinline__ float row_scale(const float* norm, int index) {
  return power_of_two(norm[index] * (index < kChunkSize ? 1.0F : 1.0F / kQueryScale));
}

// The factors that the carried state needs, of one row: rk e^G, rq e^G, rk e^(G_C - G), e^G_C.
template <typename Operand>
__device__ __forceinline__ void store_factors(const HeadGates& gates, const float* norm, float* to,
                                              int row) {
  const float end = gates.sum[kChunkSize - 1];
  const float grown = decay(gates.sum[row]);
  float k = norm[row];
  float q = norm[kChunkSize + row];
  if constexpr (kScaled<Operand>) {
    k /= row_scale(norm, row);
    q /= row_scale(norm, kChunkSize + row);
  }
  to[row] = k * grown;
  to[kChunkSize + row] = q * grown;
  to[2 * kChunkSize + row] = k * decay(end - gates.sum[row]);
  if (row == 0) {
    to[3 * kChunkSize] = decay(end);
  }
}

}  // namespace deltaserve::cuda
