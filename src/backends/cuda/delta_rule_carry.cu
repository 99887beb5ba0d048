// Second kernel of the chunked delta rule: carries the state through the chunks of a sequence with
// what the first one left in scratch, see delta_rule_chunks.cuh and delta_rule_chain.cuh. With few
// heads a block is one warpgroup, so that a head spreads over two multiprocessors; with many it is
// two that share K, Q and T', and blocks share the streams evenly (delta_rule_pieces.cuh). A
// producer warp keeps a ring of stages full, a storer warp for each warpgroup takes O away. The
// bits of a row depend on none of this: every value column is computed by the same chain.
#include <algorithm>

#include "backends/cuda/delta_rule_chain.cuh"
#include "backends/cuda/delta_rule_layout.h"
#include "backends/cuda/delta_rule_output.cuh"
#include "backends/cuda/delta_rule_rows.cuh"
#include "backends/cuda/delta_rule_solved.cuh"
#include "backends/cuda/delta_rule_work.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {
namespace {

constexpr int kStages = 3;  // one in use, two on the way: a chunk takes about a microsecond

template <int Groups>
struct alignas(1024) Stage {
  char rows[kRowTiles<Groups> * kTileBytes];
  char solved[kSolvedTile];
  float factors[kFactors];
};

template <int Groups>
struct Shared {
  Stage<Groups> stages[kStages];
  char out[Groups][kTileBytes];
  uint64_t full[kStages];
  uint64_t empty[kStages];
  uint64_t out_full[Groups];
  uint64_t out_empty[Groups];
  uint64_t partial;
};

// The producer warp.
template <int Groups, typename Operand>
__device__ void produce(const CUtensorMap& qkv, const ChunkedRule& rule, Shared<Groups>& shared) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  PartialLoads partial{.barrier = shared_address(&shared.partial)};
  Source<Groups> source(rule);
  Work work;
  int at = 0;
  uint32_t parity = 1;
  while (source.next(work)) {
    const RowColumns columns(rule, work.head, work.piece.key_head, work.column);
#pragma unroll 1
    for (int32_t c = work.piece.first; c < work.piece.end; ++c) {
      Stage<Groups>& stage = shared.stages[at];
      const uint32_t full = shared_address(&shared.full[at]);
      const Chunk chunk = work.piece.rows.chunk(c);
      const int64_t place = chunk.place * rule.num_v_heads + work.head;
      RowSource from = {.qkv = qkv, .columns = columns};
      if constexpr (kScaled<Operand>) {
        from.converted = rule.converted +
                         (chunk.place * rule.num_k_heads + work.piece.key_head) * kConvertedBytes;
      }
      mbarrier_wait(shared_address(&shared.empty[at]), parity);
      load_chunk<Groups>(from, chunk, stage.rows, full, kSolvedBytes + kFactorBytes, partial);
      if (lane == 0) {
        bulk_load(shared_address(stage.factors), rule.factors + place * kFactors, kFactorBytes,
                  full);
        load_solved(stage.solved, rule.solved + place * kSolvedBytes, full);
      }
      if (++at == kStages) {
        at = 0;
        parity ^= 1;
      }
    }
  }
}

// A storer warp: the 64 value columns of warpgroup `group`.
template <int Groups>
__device__ void store_out(const CUtensorMap& out, const ChunkedRule& rule, Shared<Groups>& shared,
                          int group) {
  const uint32_t out_full = shared_address(&shared.out_full[group]);
  const uint32_t out_empty = shared_address(&shared.out_empty[group]);
  Source<Groups> source(rule);
  Work work;
  uint32_t parity = 0;
  while (source.next(work)) {
    const int32_t column = work.head * kDeltaDim + work.column + group * kColumns;
#pragma unroll 1
    for (int32_t c = work.piece.first; c < work.piece.end; ++c) {
      mbarrier_wait(out_full, parity);
      take_output(out, rule, work.piece.rows.chunk(c), column, shared.out[group]);
      __syncwarp();
      if (threadIdx.x % kWarp == 0) {
        mbarrier_arrive(out_empty);
      }
      parity ^= 1;
    }
  }
}

// A consumer warpgroup.
template <int Groups, typename Operand>
__device__ void carry(const ChunkedRule& rule, Shared<Groups>& shared, int group) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int warp = static_cast<int>(threadIdx.x % kGroup / kWarp);
  const int32_t block = static_cast<int32_t>(blockIdx.x);
  const uint32_t out = shared_address(shared.out[group]);
  const uint32_t out_full = shared_address(&shared.out_full[group]);
  const uint32_t out_empty = shared_address(&shared.out_empty[group]);
  const uint32_t first_stage = shared_address(shared.stages);
  const uint32_t full = shared_address(shared.full);
  const uint32_t empty = shared_address(shared.empty);
  ChainRegisters<Operand> x{};
  Source<Groups> source(rule);
  Work work;
  int at = 0;
  uint32_t parity = 0;
  uint32_t out_parity = 1;
  while (source.next(work)) {
    const Piece& piece = work.piece;
    const int column = work.column + group * kColumns + warp * 16;
    float* state = rule.state + lane % 4 * 2 +
                   delta_state_row(rule.state_slots[piece.rows.sequence], work.head,
                                   column + lane / 4, rule.num_v_heads, kDeltaDim, kDeltaDim);
    if (Groups == 2 && piece.continues) {
      take_over(handover_flag(rule, block - rule.num_v_heads / rule.num_k_heads));
    }
    load_state(x, state, piece.first == 0 && rule.context_lens[piece.rows.sequence] == 0);
#pragma unroll 1
    for (int32_t c = piece.first; c < piece.end; ++c) {
      const uint32_t stage = first_stage + at * static_cast<uint32_t>(sizeof(Stage<Groups>));
      mbarrier_wait(full + 8 * at, parity);
      carry_chunk<Groups == 1>(x, {.rows = stage,
                                   .values = stage + (4 + group) * kTileBytes,
                                   .solved = stage + kRowTiles<Groups> * kTileBytes,
                                   .factors = shared.stages[at].factors});
      mbarrier_wait(out_empty, out_parity);
      out_parity ^= 1;
      put_output(x, out);
      async_proxy_fence();
      __syncwarp();
      if (lane == 0) {
        mbarrier_arrive(out_full);
      }
      finish_chunk(x, [&] {
        if (lane == 0) {
          mbarrier_arrive(empty + 8 * at);
        }
      });
      if (++at == kStages) {
        at = 0;
        parity ^= 1;
      }
    }
    store_state(x, state);
    if (Groups == 2 && piece.hands_over) {
      hand_over(handover_flag(rule, block));
    }
  }
}

// Groups warpgroups that compute and one with the producer and the storers; grid: carry_blocks.
template <int Groups, typename Operand>
__global__ void __launch_bounds__((Groups + 1) * kGroup, 1)
    carry_state(const __grid_constant__ CUtensorMap qkv, const __grid_constant__ CUtensorMap out,
                const ChunkedRule rule) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char memory[];
  auto& shared = *reinterpret_cast<Shared<Groups>*>(memory);
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
  for (Stage<Groups>& stage : shared.stages) {
    clear_solved(stage.solved, static_cast<int>(threadIdx.x), (Groups + 1) * kGroup);
  }
  async_proxy_fence();
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x / kGroup);
  if (group == Groups) {
    if constexpr (Groups == 2) {
      shrink_registers<40>();
    }
    const int warp = static_cast<int>(threadIdx.x % kGroup / kWarp);
    if (warp == 0) {
      produce<Groups, Operand>(qkv, rule, shared);
    } else if (warp <= Groups) {
      store_out<Groups>(out, rule, shared, warp - 1);
    }
  } else {
    if constexpr (Groups == 2) {
      grow_registers<232>();
    }
    carry<Groups, Operand>(rule, shared, group);
  }
#else
  __trap();  // built for an architecture on which the op never launches it
#endif
}

template <int Groups, typename Operand>
void launch_for(cudaStream_t stream, const CUtensorMap& qkv, const CUtensorMap& out,
                const ChunkedRule& rule, int32_t blocks) {
  constexpr size_t kShared = sizeof(Shared<Groups>);
  allow_shared(carry_state<Groups, Operand>, kShared);
  carry_state<Groups, Operand>
      <<<static_cast<unsigned>(blocks), (Groups + 1) * kGroup, kShared, stream>>>(qkv, out, rule);
  check_cuda(cudaGetLastError());
}

template <int Groups>
void launch_groups(cudaStream_t stream, const CUtensorMap& qkv, const CUtensorMap& out,
                   const ChunkedRule& rule, int32_t blocks) {
  if (rule.converted != nullptr) {
    launch_for<Groups, __half>(stream, qkv, out, rule, blocks);
  } else {
    launch_for<Groups, bf16>(stream, qkv, out, rule, blocks);
  }
}

// Whether halves of streams, which take whole rounds of the multiprocessors, end before teams that
// share the streams evenly: a step of two warpgroups in one block takes 1.6 times that of one.
bool prefers_halves(int32_t streams, int32_t num_sms) {
  return 5 * ceil_div(2 * streams, num_sms) * num_sms <= 8 * std::max(streams, num_sms);
}

}  // namespace

int32_t carry_blocks(const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms) {
  const int32_t streams = num_chunked * rule.num_v_heads;
  const int32_t heads = rule.num_v_heads / rule.num_k_heads;
  return prefers_halves(streams, num_sms) ? 2 * streams
                                          : std::min(streams, num_sms / heads * heads);
}

void launch_carry_state(cudaStream_t stream, const CUtensorMap& qkv, const CUtensorMap& out,
                        const ChunkedRule& rule, int32_t num_chunked, int32_t num_sms) {
  const int32_t blocks = carry_blocks(rule, num_chunked, num_sms);
  if (prefers_halves(num_chunked * rule.num_v_heads, num_sms)) {
    launch_groups<1>(stream, qkv, out, rule, blocks);
  } else {
    launch_groups<2>(stream, qkv, out, rule, blocks);
  }
}

}  // namespace deltaserve::cuda
