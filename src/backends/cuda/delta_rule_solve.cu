// First kernel of the chunked delta rule: T' = (I + A)^-1 diag(beta) and R = P T' of every chunk
// and value head, see delta_rule_chunks.cuh. A block is a warpgroup with a chunk and a key head:
// K K^T and Q K^T come from the matrix unit once, and each value head of the key head scales them
// to A and P. From there a warp inverts 16 rows of A on the diagonal (delta_rule_diagonal.cuh) and
// then solves whole columns (delta_rule_columns.cuh).
#include "backends/cuda/delta_rule_columns.cuh"
#include "backends/cuda/delta_rule_diagonal.cuh"
#include "backends/cuda/delta_rule_products.cuh"
#include "backends/cuda/delta_rule_rows.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "base/check.h"

namespace deltaserve::cuda {
namespace {

constexpr int kWarps = kGroup / kWarp;

template <int Heads>
struct alignas(1024) Shared {
  union {
    char tiles[4 * kTileBytes];  // columns 0..63 of K, of Q, columns 64..127 of K, of Q
    HeadScratch heads[Heads];    // once the products are made
  };
  HeadGates gates[Heads];
  float norm[2 * kChunkSize];  // rk, rq
  uint64_t loaded;
};

// K and Q as float16 to scratch, tiles as they lie.
__device__ __forceinline__ void store_converted(const float* norm, const char* tiles, char* to,
                                                int thread) {
  for (int i = thread; i < kConvertedBytes / 16; i += kGroup) {
    const int index = i / (kTileBytes / 16) % 2 * kChunkSize + i / 8 % kChunkSize;
    const float scale = row_scale(norm, index);
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

// The warp's share of 2 Heads jobs, G or beta of a value head: read here, done by `make`.
template <int Heads>
class Gates {
 public:
  __device__ Gates(const ChunkedRule& rule, const Chunk& chunk, int first_head, int warp,
                   int lane) {
#pragma unroll
    for (int i = 0; i < kJobs; ++i) {
      const int job = warp + i * kWarps;
      if (job < 2 * Heads) {
        inputs_[i] = load_gates(rule, chunk, job % 2 == 0, first_head + job / 2, lane);
      }
    }
  }

  __device__ void make(const Chunk& chunk, HeadGates* gates, int warp, int lane) const {
#pragma unroll
    for (int i = 0; i < kJobs; ++i) {
      const int job = warp + i * kWarps;
      if (job >= 2 * Heads) {
        break;
      }
      if (job % 2 == 0) {
        make_decays(inputs_[i], chunk, gates[job / 2], lane);
      } else {
        make_beta(inputs_[i], chunk, gates[job / 2], lane);
      }
    }
  }

 private:
  static constexpr int kJobs = (2 * Heads + kWarps - 1) / kWarps;
  GateInputs inputs_[kJobs];
};

// Blocks of so many value heads that a multiprocessor has shared memory for; of one and two heads
// there would be room for more, but then registers spill.
constexpr int kBlocks[] = {0, 4, 5, 4, 3};

// K and Q of a chunk to the tiles; by one thread.
__device__ __forceinline__ void start_loads(const CUtensorMap& qkv, const ChunkedRule& rule,
                                            int32_t row, int key_head, uint32_t tiles,
                                            uint32_t loaded) {
  mbarrier_init(loaded, 1);
  mbarrier_init_fence();
  mbarrier_arrive_expect(loaded, 4 * kTileBytes);
  const int key_column = (rule.num_k_heads + key_head) * kDeltaDim;
  for (int half = 0; half < 2; ++half) {
    const uint32_t to = tiles + half * 2 * kTileBytes;
    tensor_load(to, qkv, key_column + half * 64, row, loaded);
    tensor_load(to + kTileBytes, qkv, key_head * kDeltaDim + half * 64, row, loaded);
  }
}

// -A and P of the value heads, the warp's rows, and the inverses of its blocks on the diagonal.
template <int Heads>
__device__ __forceinline__ void scale_products(const Products& x, Shared<Heads>& shared, int warp,
                                               int lane) {
#pragma unroll 1
  for (int head = 0; head < Heads; ++head) {
    const HeadGates& gates = shared.gates[head];
    const RowFactors rows = load_row_factors(shared.norm, gates, warp, lane);
    put_blocks_before(x, rows, shared.norm, gates, shared.heads[head], warp, lane);
    put_diagonal(x, rows, shared.norm, gates, shared.heads[head], warp, lane);
  }
  __syncwarp();
#pragma unroll 1
  for (int head = lane / 16; head < Heads; head += 2) {
    invert_diagonal(shared.heads[head], warp, lane);
  }
}

// grid (Hk, chunks), so that blocks at work at a time read whole rows.
template <int Heads, typename Operand>
__global__ void __launch_bounds__(kGroup, kBlocks[Heads])
    solve_chunks(const __grid_constant__ CUtensorMap qkv, const ChunkedRule rule) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char memory[];
  auto& shared = *reinterpret_cast<Shared<Heads>*>(memory);
  const int thread = static_cast<int>(threadIdx.x % kGroup);  // which is not negative
  const int warp = thread / kWarp;
  const int lane = thread % kWarp;
  const int key_head = static_cast<int>(blockIdx.x);
  const Chunk chunk = find_chunk(rule, static_cast<int32_t>(blockIdx.y));
  if (chunk.sequence < 0) {
    return;
  }
  const uint32_t loaded = shared_address(&shared.loaded);
  const uint32_t tiles = shared_address(shared.tiles);
  if (thread == 0) {
    start_loads(qkv, rule, chunk.row, key_head, tiles, loaded);
  }
  const Gates<Heads> gates(rule, chunk, key_head * Heads, warp, lane);
  __syncthreads();  // the barrier is initialised
  gates.make(chunk, shared.gates, warp, lane);
  mbarrier_wait(loaded, 0);
  if (!chunk.full()) {
    for (int tile = 0; tile < 4; ++tile) {
      clear_rows(shared.tiles + tile * kTileBytes, chunk, thread, kGroup);
    }
    async_proxy_fence();
    __syncthreads();
  }
  Products x;
  start_product(x.kk, tiles, tiles);
  start_product(x.qk, tiles + kTileBytes, tiles);
  float qq[2][4] = {};
  multiply_rows_by_themselves(qq, tiles + kTileBytes, warp, lane);
  put_norms(qq, shared.norm + kChunkSize, kQueryScale, warp, lane);
  wgmma_wait();
  pin(x.kk);
  pin(x.qk);
  take_diagonal(x.kk_diagonal, x.kk, warp);
  take_diagonal(x.qk_diagonal, x.qk, warp);
  put_norms(x.kk_diagonal, shared.norm, 1.0F, warp, lane);
  __syncthreads();  // norms and gates are there, and the tiles are read
  if constexpr (kScaled<Operand>) {
    char* to = rule.converted + (chunk.place * rule.num_k_heads + key_head) * kConvertedBytes;
    store_converted(shared.norm, shared.tiles, to, thread);
    __syncthreads();
  }
  scale_products(x, shared, warp, lane);
  __syncthreads();
  const int64_t place = chunk.place * rule.num_v_heads + key_head * Heads;
#pragma unroll 1
  for (int head = 0; head < Heads; ++head) {  // long columns and short ones take turns
    const int column = head % 2 == 0 ? warp : kWarps - 1 - warp;
    solve_column<Operand>(shared.heads[head], shared.gates[head],
                          rule.solved + (place + head) * kSolvedBytes, column, lane);
  }
  for (int i = thread; i < Heads * kChunkSize; i += kGroup) {
    const int head = i / kChunkSize;
    store_factors<Operand>(shared.gates[head], shared.norm,
                           rule.factors + (place + head) * kFactors, i % kChunkSize);
  }
#else
  __trap();  // built for an architecture on which the op never launches it
#endif
}

template <int Heads, typename Operand>
void launch_for(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                int32_t max_chunks) {
  constexpr size_t kShared = sizeof(Shared<Heads>);
  allow_shared(solve_chunks<Heads, Operand>, kShared);
  const dim3 grid(static_cast<unsigned>(rule.num_k_heads), static_cast<unsigned>(max_chunks));
  solve_chunks<Heads, Operand><<<grid, kGroup, kShared, stream>>>(qkv, rule);
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
