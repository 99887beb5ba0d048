// What the two kernels of the chunked delta rule share: their arguments and the operands that one
// leaves in scratch for the other. With G the running sum of the log decays inside a chunk, rk and
// rq the inverse norms of k and q (q's with dk^-0.5), and
// D_ij = exp(min(0, G_i - G_j)) for i >= j, else 0:
//   A_ij = beta_i rk_i rk_j (k_i . k_j) D_ij (i > j)    T' = (I + A)^-1 diag(beta)
//   P_ij = rq_i rk_j (q_i . k_j) D_ij (i >= j)          R = P T'
//   W = V^T - (S K^T) diag(rk e^G)                      [U | Z] = W [T' ; R]^T
//   O^T = (S Q^T) diag(rq e^G) + Z                      S <- e^G_C S + U diag(rk e^(G_C - G)) K
// The first kernel makes T', R and the diagonals for all chunks at once, the second carries S.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "ops/batch_view.h"

namespace deltaserve::cuda {

inline constexpr int kGroup = 128;           // threads of a warpgroup
inline constexpr int kDeltaDim = 128;        // dk and dv of these kernels
inline constexpr int kTileBytes = 64 * 128;  // 64 rows of 64 bfloat16, swizzled
// Floats: rk e^G, rq e^G and rk e^(G_C - G) of the rows, then e^G_C; a multiple of 16 bytes.
inline constexpr int kFactors = 3 * kChunkSize + 4;
inline constexpr int kFactorBytes = kFactors * 4;
inline constexpr int kSolvedBytes = 10240;              // T' and R, see delta_rule_solved.cuh
inline constexpr int kConvertedBytes = 4 * kTileBytes;  // K and Q as float16
inline constexpr int kHandovers = 8;                    // warps of a block that hold the state

struct ChunkedRule {
  const int32_t* cu_seqlens = nullptr;    // [B + 1]
  const int32_t* context_lens = nullptr;  // [B]
  const int32_t* state_slots = nullptr;   // [B]
  const uint8_t* recurrent = nullptr;     // [B]
  int32_t num_seqs = 0;
  int32_t num_k_heads = 0;
  int32_t num_v_heads = 0;
  // Chunks of each sequence that this launch handles, counted from its first one here.
  int32_t first_chunk = 0;
  int32_t num_chunks = 0;
  const bf16* b = nullptr;  // [T, Hv]
  const bf16* a = nullptr;  // [T, Hv]
  int64_t ba_stride = 0;
  const float* A_log = nullptr;    // [Hv]
  const float* dt_bias = nullptr;  // [Hv]
  float* state = nullptr;          // [slots][Hv][dv][dk]
  bf16* out = nullptr;             // [T, Hv, dv]
  int64_t out_stride = 0;
  char* solved = nullptr;        // [places][Hv][kSolvedBytes]
  char* converted = nullptr;     // [places][Hk][kConvertedBytes], for products of float16
  float* factors = nullptr;      // [places][Hv][kFactors]
  int32_t* handovers = nullptr;  // [blocks][kHandovers] zeros before and after
};

// Chunks that a sequence touches: it starts `offset` rows into its first one.
__host__ __device__ constexpr int32_t count_chunks(int32_t offset, int32_t rows) {
  return (offset + rows + kChunkSize - 1) / kChunkSize;
}

// Where sequence s's chunks lie in scratch, if s is its index and `first_row` its first row: no two
// sequences overlap, since one of n rows touches at most n / 64 + 2 chunks.
__host__ __device__ constexpr int64_t chunk_place(int32_t s, int32_t first_row) {
  return first_row / kChunkSize + 2 * int64_t{s};
}

// 2^min(0, x); NaN stays NaN, which fminf would turn into 0. Sums of log decays are binary
// logarithms in these kernels, since this is one instruction of the device and exp is five.
__device__ __forceinline__ float decay(float x) {
  float clipped;
  float power;
  asm("min.NaN.f32 %0, %1, 0f00000000;" : "=f"(clipped) : "f"(x));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(clipped));
  return power;
}

// Byte of (row, 16-byte piece) of a tile with rows of 128 bytes, as the matrix unit expects them.
__device__ __forceinline__ int swizzled(int row, int piece) {
  return row * 128 + ((piece ^ (row & 7)) << 4);
}

// The launches, each in its file. `qkv` is the tensor [T, 2 Hk dk + Hv dv] and `out` [T, Hv dv],
// both in boxes of 64 x 64. The products' operands are float16 if `rule.converted` is not null,
// else bfloat16.
void launch_solve_chunks(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                         int32_t max_chunks);
void launch_carry_state(cudaStream_t stream, const CUtensorMap& qkv, const CUtensorMap& out,
                        const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms);

// Blocks of the second kernel, of which a multiprocessor holds one at a time.
int32_t carry_blocks(const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms);

}  // namespace deltaserve::cuda
