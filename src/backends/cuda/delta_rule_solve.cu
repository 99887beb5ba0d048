// First kernel of the chunked delta rule: T' = (I + A)^-1 diag(beta) and R = P T' of every chunk
// and value head, see delta_rule_chunks.cuh. A block is a chunk and a key head, with one warpgroup
// for each value head that uses it; K K^T and Q K^T come from the matrix unit. The inverse is that
// of delta_rule_inverse.cuh.
#include "backends/cuda/delta_rule_chunks.cuh"
#include "backends/cuda/delta_rule_inverse.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/wgmma.cuh"
#include "base/check.h"

namespace deltaserve::cuda {
namespace {

constexpr float kL2Eps = 1e-6F;                      // inside the root
constexpr float kQueryScale = 0.08838834764831845F;  // 128^-0.5

struct alignas(16) Shared {
  char tiles[4 * kTileBytes];  // columns 0..63 of K, of Q, columns 64..127 of K, of Q
  uint64_t loaded;
};

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

// d[64 x 64] = (rows of `left`) K^T, over the two halves of the columns.
__device__ __forceinline__ void start_product(float (&d)[32], uint32_t tiles, int left) {
  const uint64_t a = wgmma_operand(tiles + left, 16, 1024);
  const uint64_t b = wgmma_operand(tiles, 16, 1024);
  pin(d);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const uint64_t step = (k / 4 * 2 * kTileBytes + k % 4 * 32) >> 4;
    wgmma_n64_shared(d, a + step, b + step, k > 0);
  }
  wgmma_commit();
}

// Decays of this thread's two rows (r and r + 8) against the columns of the blocks before theirs.
struct RowDecays {
  float sum[2];       // G of the rows
  float to_block[2];  // exp(G_row - G_first), first the first row of the warp's block
};

// Both rows' products for columns 8 j + 2 t and the next: x[row][column]. `Strict`: only columns
// before the row, else up to it.
template <bool Strict>
__device__ __forceinline__ void scale_products(float (&x)[2][2], const float* d, int j, int warp,
                                               int r, int column, const float (&row_scale)[2],
                                               const RowDecays& decays,
                                               const HeadScratch& scratch) {
  const float2 norm = *reinterpret_cast<const float2*>(&scratch.norm[column]);
  if (j < 2 * warp) {
    const float2 far = *reinterpret_cast<const float2*>(&scratch.from_block[warp - 1][column]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float scale = row_scale[i] * decays.to_block[i];
      x[i][0] = d[2 * i] * scale * (norm.x * far.x);
      x[i][1] = d[2 * i + 1] * scale * (norm.y * far.y);
    }
    return;
  }
  const float2 sum = *reinterpret_cast<const float2*>(&scratch.sum[column]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = r + 8 * i;
    const int last = Strict ? row - 1 : row;
    x[i][0] =
        column <= last ? d[2 * i] * row_scale[i] * norm.x * decay(decays.sum[i] - sum.x) : 0.0F;
    x[i][1] = column + 1 <= last
                  ? d[2 * i + 1] * row_scale[i] * norm.y * decay(decays.sum[i] - sum.y)
                  : 0.0F;
  }
}

// The blocks of A: those below the diagonal to the matrix, the diagonal one in float32.
__device__ __forceinline__ void put_a(const float (&products)[32], const RowDecays& decays,
                                      HeadScratch& scratch, int warp, int lane) {
  const int r = warp * 16 + lane / 4;
  const float scale[2] = {scratch.beta[r] * scratch.norm[r],
                          scratch.beta[r + 8] * scratch.norm[r + 8]};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const int column = 8 * j + lane % 4 * 2;
    if (j >= 2 * warp + 2) {
      continue;
    }
    float x[2][2];
    scale_products<true>(x, products + 4 * j, j, warp, r, column, scale, decays, scratch);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (j < 2 * warp) {
        *reinterpret_cast<uint32_t*>(&scratch.matrix[(r + 8 * i) * kPitch + column]) =
            pack_half(x[i][0], x[i][1]);
      } else {
        float* to = &scratch.diagonal[warp][(lane / 4 + 8 * i) * kDiagonalPitch];
        *reinterpret_cast<float2*>(to + column - 16 * warp) = make_float2(x[i][0], x[i][1]);
      }
    }
  }
}

// T' to scratch, 16 bytes a thread; blocks above the diagonal are zero.
__device__ __forceinline__ void store_t(const HeadScratch& scratch, char* to, int thread) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = (i * kGroup + thread) / 8;
    const int piece = thread % 8;
    uint4 words = make_uint4(0, 0, 0, 0);
    if (piece * 8 < (row / 16 + 1) * 16) {
      const uint4 t = *reinterpret_cast<const uint4*>(&scratch.matrix[row * kPitch + piece * 8]);
      const float4 low = *reinterpret_cast<const float4*>(&scratch.beta[piece * 8]);
      const float4 high = *reinterpret_cast<const float4*>(&scratch.beta[piece * 8 + 4]);
      float2 pair = unpack_half(t.x);
      words.x = pack_bf16(pair.x * low.x, pair.y * low.y);
      pair = unpack_half(t.y);
      words.y = pack_bf16(pair.x * low.z, pair.y * low.w);
      pair = unpack_half(t.z);
      words.z = pack_bf16(pair.x * high.x, pair.y * high.y);
      pair = unpack_half(t.w);
      words.w = pack_bf16(pair.x * high.z, pair.y * high.w);
    }
    *reinterpret_cast<uint4*>(to + swizzled(row, piece)) = words;
  }
}

// R = P T' of the warp's 16 rows, P in registers as the first operand; through the matrix's memory,
// which nobody reads any more after the barrier.
__device__ __forceinline__ void store_r(const float (&products)[32], const RowDecays& decays,
                                        HeadScratch& scratch, char* to, int warp, int lane,
                                        int barrier) {
  const int r = warp * 16 + lane / 4;
  const float scale[2] = {scratch.norm[kChunkSize + r], scratch.norm[kChunkSize + r + 8]};
  uint32_t p[4][4];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float x[2][2] = {};
    if (j < 2 * warp + 2) {
      scale_products<false>(x, products + 4 * j, j, warp, r, 8 * j + lane % 4 * 2, scale, decays,
                            scratch);
    }
    p[j / 2][j % 2 * 2] = pack_half(x[0][0], x[0][1]);
    p[j / 2][j % 2 * 2 + 1] = pack_half(x[1][0], x[1][1]);
  }
  float sums[8][4] = {};
  const uint32_t tile = shared_address(scratch.matrix) + (lane % 8 + lane / 8 % 2 * 8) * kRowBytes +
                        lane / 16 * 8 * 2;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (k <= warp) {
#pragma unroll
      for (int n = 0; n <= k; ++n) {
        uint32_t t[4];
        load_tiles_transposed(t, tile + k * 16 * kRowBytes + n * 32);
        mma_half(sums[2 * n], p[k], t[0], t[1]);
        mma_half(sums[2 * n + 1], p[k], t[2], t[3]);
      }
    }
  }
  named_barrier<kGroup>(barrier);
  auto* out = reinterpret_cast<char*>(scratch.matrix);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const int column = 8 * n + lane % 4 * 2;
    const float2 beta = *reinterpret_cast<const float2*>(&scratch.beta[column]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      *reinterpret_cast<uint32_t*>(out + (r + 8 * i) * kRowBytes + column * 2) =
          pack_bf16(sums[n][2 * i] * beta.x, sums[n][2 * i + 1] * beta.y);
    }
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = 16 * warp + i * 4 + lane / 8;
    const int piece = lane % 8;
    *reinterpret_cast<uint4*>(to + swizzled(row, piece)) =
        *reinterpret_cast<const uint4*>(out + row * kRowBytes + piece * 16);
  }
}

__device__ __forceinline__ void store_factors(const HeadScratch& scratch, float* to, int row) {
  const float end = scratch.sum[kChunkSize - 1];
  const float grown = decay(scratch.sum[row]);
  to[row] = scratch.norm[row] * grown;
  to[kChunkSize + row] = scratch.norm[kChunkSize + row] * grown;
  to[2 * kChunkSize + row] = scratch.norm[row] * decay(end - scratch.sum[row]);
  to[3 * kChunkSize + row] = decay(end);
}

// grid (Hk, chunks), so that blocks at work at a time read whole rows; block 128 threads for each
// of the Hv / Hk value heads. Shared memory and registers leave room for 4, 3, 2 or 1 blocks of 1,
// 2, 3 or 4 heads.
template <int Heads>
__global__ void __launch_bounds__(Heads* kGroup, 5 - Heads)
    solve_chunks(const __grid_constant__ CUtensorMap qkv, const ChunkedRule rule) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  const int thread = static_cast<int>(threadIdx.x) % kGroup;
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  auto& scratch = reinterpret_cast<HeadScratch*>(memory + sizeof(Shared))[group];
  const int barrier = 1 + group;
  const int key_head = static_cast<int>(blockIdx.x);
  const int head = key_head * Heads + group;
  const Chunk chunk = find_chunk(rule, static_cast<int32_t>(blockIdx.y));
  if (chunk.sequence < 0) {
    return;
  }
  const uint32_t loaded = shared_address(&shared.loaded);
  const uint32_t tiles = shared_address(shared.tiles);
  if (threadIdx.x == 0) {
    mbarrier_init(loaded, 1);
    mbarrier_init_fence();
    mbarrier_arrive_expect(loaded, 4 * kTileBytes);
    const int key_column = (rule.num_k_heads + key_head) * kDeltaDim;
    for (int half = 0; half < 2; ++half) {
      const uint32_t to = tiles + half * 2 * kTileBytes;
      tensor_load(to, qkv, key_column + half * 64, chunk.row, loaded);
      tensor_load(to + kTileBytes, qkv, key_head * kDeltaDim + half * 64, chunk.row, loaded);
    }
  }
  const GateInputs gates = load_gates(rule, chunk, head, warp, lane);
  __syncthreads();  // the barrier is initialised
  mbarrier_wait(loaded, 0);
  if (!chunk.full()) {
    for (int tile = 0; tile < 4; ++tile) {
      clear_rows(shared.tiles + tile * kTileBytes, chunk, static_cast<int>(threadIdx.x),
                 Heads * kGroup);
    }
    async_proxy_fence();
    __syncthreads();
  }
  float products[32] = {};
  start_product(products, tiles, 0);
  scratch.norm[thread] = row_norm(shared.tiles, thread);
  if (warp == 0) {
    make_decays(gates, chunk, scratch, lane);
  } else if (warp == 1) {
    make_beta(gates, chunk, scratch, lane);
  }
  named_barrier<kGroup>(barrier);
  wgmma_wait();
  pin(products);
  const int r = warp * 16 + lane / 4;
  const float first = scratch.sum[warp * 16];
  const RowDecays decays = {
      .sum = {scratch.sum[r], scratch.sum[r + 8]},
      .to_block = {decay(scratch.sum[r] - first), decay(scratch.sum[r + 8] - first)}};
  put_a(products, decays, scratch, warp, lane);
  start_product(products, tiles, kTileBytes);  // Q K^T runs beside the inverse
  __syncwarp();
  invert_diagonal(scratch, warp, lane);
  named_barrier<kGroup>(barrier);
  merge_inverse(scratch, warp, lane, barrier);
  wgmma_wait();
  pin(products);
  const int64_t place = chunk.place * rule.num_v_heads + head;
  char* solved = rule.solved + place * kSolvedBytes;
  store_t(scratch, solved, thread);
  store_r(products, decays, scratch, solved + kTileBytes, warp, lane, barrier);
  if (thread < kChunkSize) {
    store_factors(scratch, rule.factors + place * kFactors, thread);
  }
#else
  __trap();  // built for an architecture on which the op never launches it
#endif
}

template <int Heads>
void launch_for(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                int32_t max_chunks) {
  constexpr size_t kShared = sizeof(Shared) + Heads * sizeof(HeadScratch);
  allow_shared(solve_chunks<Heads>, kShared);
  const dim3 grid(static_cast<unsigned>(rule.num_k_heads), static_cast<unsigned>(max_chunks));
  solve_chunks<Heads><<<grid, Heads * kGroup, kShared, stream>>>(qkv, rule);
  check_cuda(cudaGetLastError());
}

}  // namespace

void launch_solve_chunks(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                         int32_t max_chunks) {
  switch (rule.num_v_heads / rule.num_k_heads) {
    case 1:
      return launch_for<1>(stream, qkv, rule, max_chunks);
    case 2:
      return launch_for<2>(stream, qkv, rule, max_chunks);
    case 3:
      return launch_for<3>(stream, qkv, rule, max_chunks);
    case 4:
      return launch_for<4>(stream, qkv, rule, max_chunks);
    default:
      DS_CHECK(false, "no kernel of the chunked delta rule for so many value heads a key head");
  }
}

}  // namespace deltaserve::cuda
