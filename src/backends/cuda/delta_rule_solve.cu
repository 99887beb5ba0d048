// First kernel of the chunked delta rule: T' = (I + A)^-1 diag(beta) and R = P T' of every chunk
// and value head, see delta_rule_chunks.cuh. A block is a chunk and a key head, with one warpgroup
// for each value head that uses it; K K^T, Q Q^T (for the norms) and Q K^T
// come from the matrix unit. The inverse is that
// of delta_rule_inverse.cuh.
#include "backends/cuda/delta_rule_products.cuh"
#include "backends/cuda/delta_rule_rows.cuh"
#include "backends/cuda/delta_rule_solved.cuh"
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

// T' of the warp's 16 rows to scratch, 16 bytes a lane.
template <typename Operand>
__device__ __forceinline__ void store_t(const HeadScratch& scratch, char* solved, int warp,
                                        int lane) {
  const int row = 16 * warp + lane / 16 * 8 + lane % 8;
  for (int block = 0; block <= warp; ++block) {
    const int column = 16 * block + lane / 8 % 2 * 8;
    const uint4 t = *reinterpret_cast<const uint4*>(&scratch.matrix[row * kPitch + column]);
    const float4 low = *reinterpret_cast<const float4*>(&scratch.beta[column]);
    const float4 high = *reinterpret_cast<const float4*>(&scratch.beta[column + 4]);
    uint4 words;
    float2 pair = unpack_half(t.x);
    words.x = pack<Operand>(pair.x * low.x, pair.y * low.y);
    pair = unpack_half(t.y);
    words.y = pack<Operand>(pair.x * low.z, pair.y * low.w);
    pair = unpack_half(t.z);
    words.z = pack<Operand>(pair.x * high.x, pair.y * high.y);
    pair = unpack_half(t.w);
    words.w = pack<Operand>(pair.x * high.z, pair.y * high.w);
    *reinterpret_cast<uint4*>(solved + solved_block(warp, block) + lane * 16) = words;
  }
}

// R = P T' of the warp's 16 rows to scratch, P in registers as the first operand.
template <typename Operand>
__device__ __forceinline__ void store_r(const float (&products)[32], const RowDecays& decays,
                                        const HeadScratch& scratch, char* solved, int warp,
                                        int lane) {
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
  const uint32_t tile = shared_address(scratch.matrix) + (lane % 8 + lane / 8 % 2 * 8) * kRowBytes +
                        lane / 16 * 8 * 2;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    if (n > warp) {
      continue;
    }
    float sums[2][4] = {};
#pragma unroll
    for (int k = n; k < 4; ++k) {
      if (k <= warp) {
        uint32_t t[4];
        load_tiles_transposed(t, tile + k * 16 * kRowBytes + n * 32);
        mma_half(sums[0], p[k], t[0], t[1]);
        mma_half(sums[1], p[k], t[2], t[3]);
      }
    }
    char* block = solved + solved_block(warp, n) + kBlockBytes + lane * 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 beta =
          *reinterpret_cast<const float2*>(&scratch.beta[16 * n + 8 * half + lane % 4 * 2]);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        *reinterpret_cast<uint32_t*>(block + i * kBlockBytes / 2 + half * kBlockBytes / 4) =
            pack<Operand>(sums[half][2 * i] * beta.x, sums[half][2 * i + 1] * beta.y);
      }
    }
  }
}

// K and Q as float16 to scratch, tiles as they lie, by a thread of `threads`.
__device__ __forceinline__ void store_converted(const HeadScratch& scratch, const char* tiles,
                                                char* to, int thread, int threads) {
  for (int i = thread; i < kConvertedBytes / 16; i += threads) {
    const int index = i / (kTileBytes / 16) % 2 * kChunkSize + i / 8 % kChunkSize;
    const float scale = row_scale(scratch, index);
    const uint4 from = reinterpret_cast<const uint4*>(tiles)[i];
    const uint32_t words[4] = {from.x, from.y, from.z, from.w};
    uint32_t halves[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 pair = unpack_bf16(words[j]);
      halves[j] = pack_half(pair.x * scale, pair.y * scale);
    }
    reinterpret_cast<uint4*>(to)[i] = make_uint4(halves[0], halves[1], halves[2], halves[3]);
  }
}

// grid (Hk, chunks), so that blocks at work at a time read whole rows; block 128 threads for each
// of the Hv / Hk value heads. Shared memory and registers leave room for 4, 3, 2 or 1 blocks of 1,
// 2, 3 or 4 heads.
template <int Heads, typename Operand>
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
  start_product(products, tiles, tiles);
  if (warp == 0) {
    make_decays(gates, chunk, scratch, lane);
  } else if (warp == 1) {
    make_beta(gates, chunk, scratch, lane);
  }
  wgmma_wait();
  pin(products);
  put_norms(products, scratch.norm, 1.0F, warp, lane);
  named_barrier<kGroup>(barrier);
  const int r = warp * 16 + lane / 4;
  const float first = scratch.sum[warp * 16];
  const RowDecays decays = {
      .sum = {scratch.sum[r], scratch.sum[r + 8]},
      .to_block = {decay(scratch.sum[r] - first), decay(scratch.sum[r + 8] - first)}};
  put_a(products, decays, scratch, warp, lane);
  start_product(products, tiles + kTileBytes, tiles + kTileBytes);  // runs beside the inverse
  __syncwarp();
  invert_diagonal(scratch, warp, lane);
  wgmma_wait();
  pin(products);
  put_norms(products, scratch.norm + kChunkSize, kQueryScale, warp, lane);
  start_product(products, tiles + kTileBytes, tiles);
  named_barrier<kGroup>(barrier);
  merge_inverse(scratch, warp, lane, barrier);
  wgmma_wait();
  pin(products);
  const int64_t place = chunk.place * rule.num_v_heads + head;
  char* solved = rule.solved + place * kSolvedBytes;
  store_t<Operand>(scratch, solved, warp, lane);
  store_r<Operand>(products, decays, scratch, solved, warp, lane);
  if (thread < kChunkSize) {
    store_factors<Operand>(scratch, rule.factors + place * kFactors, thread);
  }
  if constexpr (kScaled<Operand>) {
    char* to = rule.converted + (chunk.place * rule.num_k_heads + key_head) * kConvertedBytes;
    store_converted(scratch, shared.tiles, to, static_cast<int>(threadIdx.x), Heads * kGroup);
  }
#else
  __trap();  // built for an architecture on which the op never launches it
#endif
}

template <int Heads, typename Operand>
void launch_for(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                int32_t max_chunks) {
  constexpr size_t kShared = sizeof(Shared) + Heads * sizeof(HeadScratch);
  allow_shared(solve_chunks<Heads, Operand>, kShared);
  const dim3 grid(static_cast<unsigned>(rule.num_k_heads), static_cast<unsigned>(max_chunks));
  solve_chunks<Heads, Operand><<<grid, Heads * kGroup, kShared, stream>>>(qkv, rule);
  check_cuda(cudaGetLastError());
}

template <int Heads>
void launch_heads(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                  int32_t max_chunks) {
  if (rule.converted != nullptr) {
    launch_for<Heads, __half>(stream, qkv, rule, max_chunks);
  } else {
    launch_for<Heads, bf16>(stream, qkv, rule, max_chunks);
  }
}

}  // namespace

void launch_solve_chunks(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                         int32_t max_chunks) {
  switch (rule.num_v_heads / rule.num_k_heads) {
    case 1:
      return launch_heads<1>(stream, qkv, rule, max_chunks);
    case 2:
      return launch_heads<2>(stream, qkv, rule, max_chunks);
    case 3:
      return launch_heads<3>(stream, qkv, rule, max_chunks);
    case 4:
      return launch_heads<4>(stream, qkv, rule, max_chunks);
    default:
      DS_CHECK(false, "no kernel of the chunked delta rule for so many value heads a key head");
  }
}

}  // namespace deltaserve::cuda
