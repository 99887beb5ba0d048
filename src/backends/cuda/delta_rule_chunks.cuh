// What the two kernels of the chunked delta rule share: their arguments, the operands that one
// leaves in scratch for the other, and how a block finds its chunk. With G the running sum of the
// log decays inside a chunk, rk and rq the inverse norms of k and q (q's with dk^-0.5), and
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

#include "backends/cuda/device_math.cuh"
#include "ops/batch_view.h"

namespace deltaserve::cuda {

inline constexpr int kDeltaDim = 128;            // dk and dv of these kernels
inline constexpr int kTileBytes = 64 * 128;      // 64 rows of 64 bfloat16, swizzled
inline constexpr int kFactors = 4 * kChunkSize;  // floats: rk e^G, rq e^G, rk e^(G_C - G), e^G_C
inline constexpr int kFactorBytes = kFactors * 4;
inline constexpr int kSolvedBytes = 2 * kTileBytes;  // T' and R

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
  char* solved = nullptr;    // [places][Hv][T' ; R], 16 KiB each, as the matrix unit reads them
  float* factors = nullptr;  // [places][Hv][kFactors]
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

struct Chunk {
  int32_t sequence = -1;  // -1: there is none
  int32_t row = 0;    // of the packed batch, where the chunk's row 0 is or would be (may be < 0)
  int32_t begin = 0;  // rows of the chunk that the sequence has here: [begin, end)
  int32_t end = 0;
  int64_t place = 0;  // in scratch

  __device__ bool full() const { return end - begin == kChunkSize; }
};

// A sequence's rows in this step.
struct SequenceRows {
  int32_t sequence = 0;
  int32_t first = 0;  // of the packed batch
  int32_t count = 0;
  int32_t offset = 0;  // of the first one in its chunk

  __device__ SequenceRows(const ChunkedRule& rule, int32_t s)
      : sequence(s),
        first(rule.cu_seqlens[s]),
        count(rule.cu_seqlens[s + 1] - first),
        offset(rule.context_lens[s] % kChunkSize) {}

  __device__ int32_t chunks() const { return count_chunks(offset, count); }

  __device__ Chunk chunk(int32_t c) const {
    return {.sequence = sequence,
            .row = first - offset + c * kChunkSize,
            .begin = c == 0 ? offset : 0,
            .end = min(kChunkSize, offset + count - c * kChunkSize),
            .place = chunk_place(sequence, first) + c};
  }
};

// Calls `count(s)` for sequences in order and returns the one in which the running total passes
// `index`, and `index`'s rank in it; -1 if there is none. By a whole warp, lanes agreeing.
template <typename Count>
__device__ __forceinline__ int2 find_in_sequences(int32_t num_seqs, int32_t index, Count&& count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int32_t first = 0; first < num_seqs; first += kWarp) {
    const int32_t own = first + lane < num_seqs ? count(first + lane) : 0;
    int32_t total = own;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const int32_t before = __shfl_up_sync(kAllLanes, total, step);
      total += lane >= step ? before : 0;
    }
    const unsigned past = __ballot_sync(kAllLanes, total > index);
    if (past != 0) {
      const int at = __ffs(static_cast<int>(past)) - 1;
      return make_int2(first + at, index - __shfl_sync(kAllLanes, total - own, at));
    }
    index -= __shfl_sync(kAllLanes, total, kWarp - 1);
  }
  return make_int2(-1, 0);
}

// The index-th chunk of this launch.
__device__ __forceinline__ Chunk find_chunk(const ChunkedRule& rule, int32_t index) {
  const int2 found = find_in_sequences(rule.num_seqs, index, [&](int32_t s) {
    const int32_t chunks = SequenceRows(rule, s).chunks();
    return rule.recurrent[s] != 0 ? 0 : min(max(chunks - rule.first_chunk, 0), rule.num_chunks);
  });
  return found.x < 0 ? Chunk{} : SequenceRows(rule, found.x).chunk(rule.first_chunk + found.y);
}

// The index-th sequence that goes in chunks, or -1.
__device__ __forceinline__ int32_t find_chunked_sequence(const ChunkedRule& rule, int32_t index) {
  return find_in_sequences(rule.num_seqs, index,
                           [&](int32_t s) { return rule.recurrent[s] == 0 ? 1 : 0; })
      .x;
}

// exp(min(0, x)); NaN stays NaN, which fminf would turn into 0.
__device__ __forceinline__ float decay(float x) {
  float clipped;
  asm("min.NaN.f32 %0, %1, 0f00000000;" : "=f"(clipped) : "f"(x));
  return __expf(clipped);
}

// Byte of (row, 16-byte piece) of a tile with rows of 128 bytes, as the matrix unit expects them.
__device__ __forceinline__ int swizzled(int row, int piece) {
  return row * 128 + ((piece ^ (row & 7)) << 4);
}

// Rows outside [begin, end) of a tile become zero, by `threads` threads of number `thread`. The
// copy brought other sequences' rows there.
__device__ __forceinline__ void clear_rows(char* tile, const Chunk& chunk, int thread,
                                           int threads) {
  for (int i = thread; i < kTileBytes / 16; i += threads) {
    const int row = i / 8;
    if (row < chunk.begin || row >= chunk.end) {
      *reinterpret_cast<uint4*>(tile + i * 16) = make_uint4(0, 0, 0, 0);
    }
  }
}

// The launches, each in its file. `qkv` is the tensor [T, 2 Hk dk + Hv dv] in boxes of 64 x 64.
void launch_solve_chunks(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                         int32_t max_chunks);
void launch_carry_state(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                        int32_t num_chunked, int32_t num_sms);

// Blocks of the second kernel, of which a multiprocessor holds one at a time.
int32_t carry_blocks(const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms);

}  // namespace deltaserve::cuda
