// First kernel of the chunked delta rule: T' = (I + A)^-1 diag(beta) and R = P T' of every chunk
// and value head, see delta_rule_chunks.cuh. A block is a chunk and a key head, with one warpgroup
// for each value head that uses it; K K^T and Q K^T come from the matrix unit. The inverse is that
// of delta_rule_inverse.cuh.
#include "backends/cuda/delta_rule_products.cuh"
#include "backends/cuda/delta_rule_rows.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma.cuh"
#include "base/check.h"

namespace deltaserve::cuda {
namespace {

struct alignas(16) Shared {
  char tiles[4 * kTileBytes];  // columns 0..63 of K, of Q, columns 64..127 of K, of Q
  uint64_t loaded;
};

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
