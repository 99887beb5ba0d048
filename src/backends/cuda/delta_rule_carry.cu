// Second kernel of the chunked delta rule: carries the state S [dv x dk] through the chunks of a
// sequence in float32 accumulators, see delta_rule_chunks.cuh. Three products a chunk, each with
// what the one before left in registers as its first operand and 128 columns wide:
//   [X | Y] = S [K ; Q]^T     [U | Z] = W [T' ; R]^T     S += (U diag(rk e^(G_C - G))) K
// A warpgroup holds 64 value columns. With few heads a block is one warpgroup, so that a head
// spreads over two multiprocessors; with many it is two that share K, Q and T'. A producer warp
// keeps a ring of stages full, a storer warp for each warpgroup takes O away. The bits of a row
// depend on neither choice: every value column is computed by the same chain.
#include "backends/cuda/delta_rule_chunks.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/wgmma.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kGroup = 128;   // threads of a warpgroup
constexpr int kStages = 3;    // one in use, two on the way: a chunk takes about a microsecond
constexpr int kColumns = 64;  // value columns of a warpgroup

// O of a warp: 16 value columns of 64 tokens, transposed, with a pitch that spreads the banks.
constexpr int kOutPitch = 48;
constexpr int kWarpOutBytes = kChunkSize * kOutPitch + 32;

template <int Groups>
struct Stage {
  char keys_queries[4 * kTileBytes];  // columns 0..63 of K, of Q, columns 64..127 of K, of Q
  char values[Groups * kTileBytes];
  char solved[kSolvedBytes];
  float factors[kFactors];
};

template <int Groups>
struct Shared {
  Stage<Groups> stages[kStages];
  char out[Groups][4 * kWarpOutBytes];
  uint64_t full[kStages];
  uint64_t empty[kStages];
  uint64_t out_full[Groups];
  uint64_t out_empty[Groups];
  uint64_t partial;  // copies of a chunk that the producer must clean first
};

// What a block works on.
struct Stream {
  SequenceRows rows;
  int32_t head = 0;
  int32_t key_head = 0;
  int32_t column = 0;  // first value column of the block
  int32_t chunks = 0;  // of this launch
};

__device__ __forceinline__ int64_t solved_place(const ChunkedRule& rule, const Stream& stream,
                                                const Chunk& chunk) {
  return chunk.place * rule.num_v_heads + stream.head;
}

template <int Groups>
__device__ __forceinline__ void load_rows(const CUtensorMap& qkv, const ChunkedRule& rule,
                                          const Stream& stream, const Chunk& chunk, uint32_t to,
                                          uint32_t barrier) {
  const int query = stream.key_head * kDeltaDim;
  const int key = query + rule.num_k_heads * kDeltaDim;
  const int value = 2 * rule.num_k_heads * kDeltaDim + stream.head * kDeltaDim + stream.column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint32_t tile = to + half * 2 * kTileBytes;
    tensor_load(tile, qkv, key + half * 64, chunk.row, barrier);
    tensor_load(tile + kTileBytes, qkv, query + half * 64, chunk.row, barrier);
  }
#pragma unroll
  for (int group = 0; group < Groups; ++group) {
    tensor_load(to + (4 + group) * kTileBytes, qkv, value + group * kColumns, chunk.row, barrier);
  }
}

// The producer warp. Rows of other sequences in a first or last chunk are cleared before anybody
// sees them: 0 * NaN would carry a neighbour's NaN into this sequence.
template <int Groups>
__device__ void produce(const CUtensorMap& qkv, const ChunkedRule& rule, const Stream& stream,
                        Shared<Groups>& shared) {
  constexpr uint32_t kRowBytes = (4 + Groups) * kTileBytes;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const uint32_t partial = shared_address(&shared.partial);
  uint32_t partials = 0;
  for (int32_t c = 0; c < stream.chunks; ++c) {
    const int at = c % kStages;
    Stage<Groups>& stage = shared.stages[at];
    const uint32_t full = shared_address(&shared.full[at]);
    const uint32_t rows = shared_address(stage.keys_queries);
    const Chunk chunk = stream.rows.chunk(rule.first_chunk + c);
    const int64_t place = solved_place(rule, stream, chunk);
    if (lane == 0) {
      mbarrier_wait(shared_address(&shared.empty[at]), (c / kStages & 1) ^ 1);
    }
    if (!chunk.full()) {
      if (lane == 0) {
        mbarrier_arrive_expect(partial, kRowBytes);
        load_rows<Groups>(qkv, rule, stream, chunk, rows, partial);
      }
      mbarrier_wait(partial, partials++ & 1);
      for (int tile = 0; tile < 4 + Groups; ++tile) {
        clear_rows(stage.keys_queries + tile * kTileBytes, chunk, lane, kWarp);
      }
      async_proxy_fence();
      __syncwarp();
    }
    if (lane == 0) {
      mbarrier_arrive_expect(full, (chunk.full() ? kRowBytes : 0) + kSolvedBytes + kFactorBytes);
      if (chunk.full()) {
        load_rows<Groups>(qkv, rule, stream, chunk, rows, full);
      }
      bulk_load(shared_address(stage.factors), rule.factors + place * kFactors, kFactorBytes, full);
      bulk_load(shared_address(stage.solved), rule.solved + place * kSolvedBytes, kSolvedBytes,
                full);
    }
    __syncwarp();
  }
}

// A storer warp: the 64 value columns of warpgroup `group`, 16 bytes a lane, 4 tokens at a time.
template <int Groups>
__device__ void store_out(const ChunkedRule& rule, const Stream& stream, Shared<Groups>& shared,
                          int group) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = lane / 2 % 4;  // whose columns
  const char* from = shared.out[group] + warp * kWarpOutBytes + lane % 2 * 16;
  bf16* to = rule.out + stream.head * kDeltaDim + stream.column + group * kColumns + warp * 16 +
             lane % 2 * 8;
  for (int32_t c = 0; c < stream.chunks; ++c) {
    const Chunk chunk = stream.rows.chunk(rule.first_chunk + c);
    mbarrier_wait(shared_address(&shared.out_full[group]), c & 1);
    bf16* rows = to + int64_t{chunk.row} * rule.out_stride;
    const auto store_row = [&](int row) {
      *reinterpret_cast<uint4*>(rows + row * rule.out_stride) =
          *reinterpret_cast<const uint4*>(from + row * kOutPitch);
    };
    if (chunk.full()) {
#pragma unroll 8
      for (int i = 0; i < kChunkSize; i += 4) {
        store_row(i + lane / 8);
      }
    } else {
      for (int row = lane / 8; row < kChunkSize; row += 4) {
        if (row >= chunk.begin && row < chunk.end) {
          store_row(row);
        }
      }
    }
    __syncwarp();
    if (lane == 0) {
      mbarrier_arrive(shared_address(&shared.out_empty[group]));
    }
  }
}

// S of this thread: rows r and r + 8 of the warpgroup's 64, in accumulator layout.
__device__ __forceinline__ void load_state(float (&S)[64], const float* row, bool zero) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    float2 a = make_float2(0.0F, 0.0F);
    float2 b = a;
    if (!zero) {
      a = *reinterpret_cast<const float2*>(row + 8 * j);
      b = *reinterpret_cast<const float2*>(row + 8 * kDeltaDim + 8 * j);
    }
    S[4 * j] = a.x;
    S[4 * j + 1] = a.y;
    S[4 * j + 2] = b.x;
    S[4 * j + 3] = b.y;
  }
}

__device__ __forceinline__ void store_state(const float (&S)[64], float* row) {
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    *reinterpret_cast<float2*>(row + 8 * j) = make_float2(S[4 * j], S[4 * j + 1]);
    *reinterpret_cast<float2*>(row + 8 * kDeltaDim + 8 * j) =
        make_float2(S[4 * j + 2], S[4 * j + 3]);
  }
}

__device__ __forceinline__ void load_factors(float2 (&to)[8], const float* from) {
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    to[j] = *reinterpret_cast<const float2*>(from + 8 * j);
  }
}

// A consumer warpgroup. What stands between the products is all that a step costs beside them, and
// so V and the factors are read as late as registers allow, S is scaled while [U | Z] runs, and O
// is finished while S += ... runs.
template <int Groups>
__device__ void carry(const ChunkedRule& rule, const Stream& stream, Shared<Groups>& shared,
                      int group) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) % kGroup / kWarp;
  const int t2 = lane % 4 * 2;
  const int column = stream.column + group * kColumns + warp * 16 + lane / 4;
  float* state = rule.state + t2 +
                 delta_state_row(rule.state_slots[stream.rows.sequence], stream.head, column,
                                 rule.num_v_heads, kDeltaDim, kDeltaDim);
  // Factors are read while a product runs where registers allow it.
  constexpr bool kEarly = Groups == 1;
  float S[64];
  float XY[64] = {};
  float UZ[64] = {};
  uint32_t packed_state[32];
  uint32_t packed[16];  // W, then U scaled
  uint32_t V[16];
  load_state(S, state, rule.first_chunk == 0 && rule.context_lens[stream.rows.sequence] == 0);
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    packed_state[i] = pack_bf16(S[2 * i], S[2 * i + 1]);
  }
  const uint32_t out = shared_address(shared.out[group]) + warp * kWarpOutBytes +
                       (lane % 8 + lane / 16 * 8) * kOutPitch + lane / 8 % 2 * 16;
  const uint32_t values =
      4 * kTileBytes + group * kTileBytes +
      static_cast<uint32_t>(swizzled(lane / 16 * 8 + lane % 8, warp * 2 + lane / 8 % 2));
  const uint32_t first_stage = shared_address(shared.stages);
  const uint32_t full = shared_address(shared.full);
  const uint32_t empty = shared_address(shared.empty);
  const uint32_t out_full = shared_address(&shared.out_full[group]);
  const uint32_t out_empty = shared_address(&shared.out_empty[group]);
  int at = 0;
  uint32_t parity = 0;
#pragma unroll 1
  for (int32_t c = 0; c < stream.chunks; ++c) {
    const uint32_t stage = first_stage + at * static_cast<uint32_t>(sizeof(Stage<Groups>));
    const float* factors = shared.stages[at].factors + t2;
    const uint64_t rows = wgmma_operand(stage, 16, 1024);
    const uint64_t columns = wgmma_operand(stage, 2 * kTileBytes, 1024);
    const uint64_t solved = wgmma_operand(stage + (4 + Groups) * kTileBytes, 16, 1024);
    mbarrier_wait(full + 8 * at, parity);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      load_tiles_transposed(V + 4 * j, stage + values + j * 2048);
    }
    pin(XY);
    pin(packed_state);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      wgmma_n128(XY, packed_state + 4 * k, rows + ((k / 4 * 2 * kTileBytes + k % 4 * 32) >> 4),
                 k > 0);
    }
    wgmma_commit();
    float2 scale[8];  // of the token columns 8 j + 2 t and the next
    if constexpr (kEarly) {
      load_factors(scale, factors);
    }
    wgmma_wait();
    pin(XY);
    pin(V);
    if constexpr (!kEarly) {
      load_factors(scale, factors);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const float2 low = unpack_bf16(V[2 * j]);
      const float2 high = unpack_bf16(V[2 * j + 1]);
      packed[2 * j] = pack_bf16(low.x - scale[j].x * XY[4 * j], low.y - scale[j].y * XY[4 * j + 1]);
      packed[2 * j + 1] =
          pack_bf16(high.x - scale[j].x * XY[4 * j + 2], high.y - scale[j].y * XY[4 * j + 3]);
    }
    pin(UZ);
    pin(packed);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      wgmma_n128(UZ, packed + 4 * k, solved + (k * 32 >> 4), k > 0);
    }
    wgmma_commit();
    const float whole = factors[3 * kChunkSize];
#pragma unroll
    for (float& s : S) {
      s *= whole;
    }
    load_factors(scale, factors + kChunkSize);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      XY[32 + 4 * j] *= scale[j].x;
      XY[33 + 4 * j] *= scale[j].y;
      XY[34 + 4 * j] *= scale[j].x;
      XY[35 + 4 * j] *= scale[j].y;
    }
    if constexpr (kEarly) {
      load_factors(scale, factors + 2 * kChunkSize);
    }
    wgmma_wait();
    pin(UZ);
    if constexpr (!kEarly) {
      load_factors(scale, factors + 2 * kChunkSize);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      packed[2 * j] = pack_bf16(UZ[4 * j] * scale[j].x, UZ[4 * j + 1] * scale[j].y);
      packed[2 * j + 1] = pack_bf16(UZ[4 * j + 2] * scale[j].x, UZ[4 * j + 3] * scale[j].y);
    }
    pin(S);
    pin(packed);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      wgmma_n128_transposed(S, packed + 4 * k, columns + (k * 2048 >> 4));
    }
    wgmma_commit();
    if (c > 0) {
      mbarrier_wait(out_empty, (c - 1) & 1);
    }
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float* y = XY + 32 + 4 * j;
      const float* z = UZ + 32 + 4 * j;
      store_tiles_transposed(out + j * 8 * kOutPitch, pack_bf16(y[0] + z[0], y[1] + z[1]),
                             pack_bf16(y[2] + z[2], y[3] + z[3]),
                             pack_bf16(y[4] + z[4], y[5] + z[5]),
                             pack_bf16(y[6] + z[6], y[7] + z[7]));
    }
    __syncwarp();
    if (lane == 0) {
      mbarrier_arrive(out_full);
    }
    wgmma_wait();
    pin(S);
    if (lane == 0) {
      mbarrier_arrive(empty + 8 * at);
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      packed_state[i] = pack_bf16(S[2 * i], S[2 * i + 1]);
    }
    if (++at == kStages) {
      at = 0;
      parity ^= 1;
    }
  }
  store_state(S, state);
}

// grid: for each chunked sequence and value head, 2 / Groups blocks; block: Groups warpgroups that
// compute and one with the producer and the storers.
template <int Groups>
__global__ void __launch_bounds__((Groups + 1) * kGroup, 1)
    carry_state(const __grid_constant__ CUtensorMap qkv, const ChunkedRule rule) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char memory[];
  auto& shared = *reinterpret_cast<Shared<Groups>*>(memory);
  constexpr int kParts = 2 / Groups;
  const int block = static_cast<int>(blockIdx.x);
  const int stream_index = block / kParts;
  const int32_t sequence = find_chunked_sequence(rule, stream_index / rule.num_v_heads);
  if (sequence < 0) {
    return;
  }
  Stream stream{.rows = SequenceRows(rule, sequence)};
  stream.head = stream_index % rule.num_v_heads;
  stream.key_head = stream.head / (rule.num_v_heads / rule.num_k_heads);
  stream.column = block % kParts * kColumns;
  stream.chunks = min(stream.rows.chunks() - rule.first_chunk, rule.num_chunks);
  if (stream.chunks <= 0) {
    return;
  }
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), 4 * Groups);
    }
    for (int i = 0; i < Groups; ++i) {
      mbarrier_init(shared_address(&shared.out_full[i]), 4);
      mbarrier_init(shared_address(&shared.out_empty[i]), 1);
    }
    mbarrier_init(shared_address(&shared.partial), 1);
    mbarrier_init_fence();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroup;
  if (group == Groups) {
    if constexpr (Groups == 2) {
      shrink_registers<40>();
    }
    const int warp = static_cast<int>(threadIdx.x) % kGroup / kWarp;
    if (warp == 0) {
      produce<Groups>(qkv, rule, stream, shared);
    } else if (warp <= Groups) {
      store_out<Groups>(rule, stream, shared, warp - 1);
    }
  } else {
    if constexpr (Groups == 2) {
      grow_registers<232>();
    }
    carry<Groups>(rule, stream, shared, group);
  }
#else
  __trap();  // built for an architecture on which the op never launches it
#endif
}

template <int Groups>
void launch_for(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                int32_t blocks) {
  constexpr size_t kShared = sizeof(Shared<Groups>);
  allow_shared(carry_state<Groups>, kShared);
  carry_state<Groups>
      <<<static_cast<unsigned>(blocks), (Groups + 1) * kGroup, kShared, stream>>>(qkv, rule);
  check_cuda(cudaGetLastError());
}

// A step of two warpgroups in one block takes 1.6 times that of one: what counts is how many rounds
// the multiprocessors make.
bool prefers_halves(int32_t streams, int32_t num_sms) {
  return 5 * ceil_div(2 * streams, num_sms) <= 8 * ceil_div(streams, num_sms);
}

}  // namespace

int32_t carry_blocks(const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms) {
  const int32_t streams = num_chunked * rule.num_v_heads;
  return prefers_halves(streams, num_sms) ? 2 * streams : streams;
}

void launch_carry_state(cudaStream_t stream, const CUtensorMap& qkv, const ChunkedRule& rule,
                        int32_t num_chunked, int32_t num_sms) {
  const int32_t blocks = carry_blocks(rule, num_chunked, num_sms);
  if (prefers_halves(num_chunked * rule.num_v_heads, num_sms)) {
    launch_for<1>(stream, qkv, rule, blocks);
  } else {
    launch_for<2>(stream, qkv, rule, blocks);
  }
}

}  // namespace deltaserve::cuda
