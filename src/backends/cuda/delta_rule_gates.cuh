// What a chunk of the delta rule needs of its scalars: running sums of log decays, betas, inverse
// norms of k and q, and the factors on rows and columns made of them (see delta_rule_chunks.cuh).
#pragma once

#include "backends/cuda/delta_rule_inverse.cuh"
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

// 1 / |row| of the 128 rows of K and Q, one a thread; q's with its scale.
__device__ __forceinline__ float row_norm(const char* tiles, int row) {
  float squares = 0.0F;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const char* line = tiles + half * 2 * kTileBytes + row * 128;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      // Threads of a group start at different pieces, and so in different banks.
      const uint4 piece = *reinterpret_cast<const uint4*>(line + ((i + row) % 8 << 4));
      const uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
      for (const uint32_t word : words) {
        const float2 pair = unpack_bf16(word);
        squares += pair.x * pair.x + pair.y * pair.y;
      }
    }
  }
  return rsqrtf(squares + kL2Eps) * (row < kChunkSize ? 1.0F : kQueryScale);
}

// The factors that the carried state needs, of one row: rk e^G, rq e^G, rk e^(G_C - G), e^G_C.
__device__ __forceinline__ void store_factors(const HeadScratch& scratch, float* to, int row) {
  const float end = scratch.sum[kChunkSize - 1];
  const float grown = decay(scratch.sum[row]);
  to[row] = scratch.norm[row] * grown;
  to[kChunkSize + row] = scratch.norm[kChunkSize + row] * grown;
  to[2 * kChunkSize + row] = scratch.norm[row] * decay(end - scratch.sum[row]);
  to[3 * kChunkSize + row] = decay(end);
}

}  // namespace deltaserve::cuda
