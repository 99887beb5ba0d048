// attention of the rows of a prompt, bfloat16, heads of 256, on wgmma: flash attention over the
// paged cache.
//
// A thread block takes 128 packed rows of one sequence and kv head: (token, query head) pairs, the
// heads of a token together, so that all query heads that share keys share the loaded tile too, and
// short prompts fill tiles. Two warpgroups hold 64 rows each with O [64 x 256] in registers; a
// third loads tiles of 80 keys (5 KV blocks, two stages). One warpgroup's softmax runs beside the
// other's products. Tiles start at absolute multiples of 80 and a row's sums do not depend on the
// rows beside it, so its bits are the same however the prompt was cut.
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/attention_rows.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/kv_layout.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/wgmma_wide.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kHeadDim = kTensorHeadDim;
constexpr int kGroups = 2;  // warpgroups that compute
constexpr int kThreads = (kGroups + 1) * kGroupThreads;
static_assert(kGroups * kGroupRows == kRowTile);
constexpr int kTileBlocks = 5;  // 80 keys: two stages beside Q fill shared memory
constexpr int kTileKeys = kTileBlocks * kBlockSize;
constexpr int kStages = 2;
constexpr int kSlices = 4;                             // of 64 dimensions, 128 bytes a row
constexpr int kScores = kTileKeys / 2;                 // of a thread: 64 x 80 over 128 threads
constexpr int kSums = kHeadDim / 2;                    // of a thread: 64 x 256 over 128 threads
constexpr int kBlockHalf = kBlockSize * kHeadDim * 2;  // bytes of K, or V, of a block and head
constexpr int kBlockSlice = kBlockHalf / kSlices;

struct PrefillShared {
  std::byte query[kGroups][kSlices][kGroupRows * 128];  // later gate, then out
  std::byte keys[kStages][kSlices][kTileKeys * 128];
  std::byte values[kStages][kTileBlocks][kSlices][kBlockSlice];
  uint64_t keys_landed[kStages];
  uint64_t values_landed[kStages];
  uint64_t freed[kStages];
};

// One warp brings tile after tile: the blocks that hold keys up to the last row's.
__device__ void load_tiles_of(PrefillShared& shared, const AttentionArgs& args,
                              const BatchView& batch, const RowTile& tile, int last_position) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int head = static_cast<int>(blockIdx.x);
  const int num_blocks = last_position / kBlockSize + 1;
  const int32_t* blocks = batch.block_tables + int64_t{tile.sequence} * batch.max_blocks_per_seq;
  for (int j = 0; j * kTileBlocks < num_blocks; ++j) {
    const int stage = j % kStages;
    const int count = min(kTileBlocks, num_blocks - j * kTileBlocks);
    const uint32_t keys_landed = shared_address(&shared.keys_landed[stage]);
    const uint32_t values_landed = shared_address(&shared.values_landed[stage]);
    const int block = lane < count ? blocks[j * kTileBlocks + lane] : 0;
    mbarrier_wait(shared_address(&shared.freed[stage]), (j / kStages % 2) ^ 1);
    if (lane == 0) {
      mbarrier_arrive_expect(keys_landed, static_cast<uint32_t>(count * kBlockHalf));
      mbarrier_arrive_expect(values_landed, static_cast<uint32_t>(count * kBlockHalf));
    }
    __syncwarp();
    if (lane < count) {
      const auto* from = reinterpret_cast<const std::byte*>(
          static_cast<const bf16*>(args.kv_cache) +
          kv_base(block, false, head, args.num_kv_heads, kHeadDim));
#pragma unroll
      for (int slice = 0; slice < kSlices; ++slice) {
        bulk_load(shared_address(&shared.keys[stage][slice][lane * kBlockSlice]),
                  from + slice * kBlockSlice, kBlockSlice, keys_landed);
      }
      bulk_load(shared_address(&shared.values[stage][lane]), from + kBlockHalf, kBlockHalf,
                values_landed);
    }
  }
}

// Zeroes the values of keys that no row here sees: a weight of 0 does not cover a NaN that an
// earlier owner of a block left. By all warpgroups that compute.
__device__ void clear_values(PrefillShared& shared, int stage, int valid) {
  constexpr int kPieces = kHeadDim / 8;
  const int thread = static_cast<int>(threadIdx.x) - kGroupThreads;
  for (int i = valid * kPieces + thread; i < kTileKeys * kPieces; i += kGroups * kGroupThreads) {
    const int key = i / kPieces;
    const int piece = i % kPieces;
    std::byte* at = &shared.values[stage][key / kBlockSize][piece / 8][0];
    *reinterpret_cast<uint4*>(at + key % kBlockSize * 128 + piece % 8 * 16) =
        make_uint4(0, 0, 0, 0);
  }
  async_proxy_fence();
  named_barrier<kGroups * kGroupThreads>(1);
}

// S = Q K^T of a warpgroup's rows and a tile of keys.
__device__ __forceinline__ void score_tile(PrefillShared& shared, int warpgroup, int stage,
                                           float (&scores)[kScores]) {
  const uint64_t query = wgmma_operand(shared_address(&shared.query[warpgroup]), 16, 1024);
  const uint64_t keys = wgmma_operand(shared_address(&shared.keys[stage]), 16, 1024);
  pin(scores);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kHeadDim / 16; ++k) {
    // Descriptors count 16 bytes: 32 bytes a step of 16 dimensions, then the next slice.
    const uint64_t step = k % 4 * 2;
    wgmma_n80_shared(scores, query + (k / 4 * kGroupRows * 128 / 16 + step),
                     keys + (k / 4 * kTileKeys * 128 / 16 + step), k != 0);
  }
  wgmma_commit();
  wgmma_wait();
  pin(scores);
}

// The running softmax of the two rows of a thread, in units of 2^largest.
struct RowState {
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {};  // of this thread's keys
};

// Turns scores into weights, packed as the first operand of the next product, and rescales O.
__device__ __forceinline__ void softmax_tile(float (&scores)[kScores], float scale_log2,
                                             RowState& state, float (&out)[kSums],
                                             uint32_t (&weights)[kScores / 2]) {
  float keep[2];
  bool rescale = false;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float now = -INFINITY;
#pragma unroll
    for (int n = 0; n < kTileKeys / 8; ++n) {
      now = fmaxf(now, fmaxf(scores[4 * n + 2 * i], scores[4 * n + 2 * i + 1]));
    }
    now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 1));
    now = fmaxf(now, __shfl_xor_sync(kAllLanes, now, 2));
    now = fmaxf(now * scale_log2, state.largest[i]);
    keep[i] = exp2_fast(state.largest[i] - now);
    rescale |= now != state.largest[i];
    state.largest[i] = now;
    float total = 0.0F;
#pragma unroll
    for (int n = 0; n < kTileKeys / 8; ++n) {
      float& a = scores[4 * n + 2 * i];
      float& b = scores[4 * n + 2 * i + 1];
      a = exp2_fast(__fmaf_rn(a, scale_log2, -now));
      b = exp2_fast(__fmaf_rn(b, scale_log2, -now));
      total += a + b;
    }
    state.total[i] = __fmaf_rn(state.total[i], keep[i], total);
  }
#pragma unroll
  for (int i = 0; i < kScores / 2; ++i) {
    weights[i] = pack_bf16(scores[2 * i], scores[2 * i + 1]);
  }
  if (__any_sync(kAllLanes, rescale)) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      out[i] *= keep[i / 2 % 2];
    }
  }
}

// O += P V.
__device__ __forceinline__ void add_values(PrefillShared& shared, int stage,
                                           uint32_t (&weights)[kScores / 2], float (&out)[kSums]) {
  const uint64_t values = wgmma_operand(shared_address(&shared.values[stage]), kBlockSlice, 1024);
  pin(weights);
  pin(out);
  wgmma_fence();
#pragma unroll
  for (int b = 0; b < kTileBlocks; ++b) {
    wgmma_n256_transposed(out, &weights[4 * b], values + b * kBlockHalf / 16);
  }
  wgmma_commit();
  wgmma_wait();
  pin(out);
}

// x * sigmoid(gate) to some 2^-21: far below the rounding to bfloat16 that follows.
__device__ __forceinline__ float gated(float x, float gate) {
  return __fdividef(x, 1.0F + exp2_fast(gate * -1.44269504F));
}

// Divides, applies the gate and stores. Q's place in shared memory takes the gate, then the result.
__device__ void finish(std::byte* stage, const GroupRows& rows, const RowState& state,
                       int warpgroup, const float (&out)[kSums]) {
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  const int lane = thread % kWarp;
  load_rows(stage, rows.args.gate, rows);
  named_barrier<kGroupThreads>(2 + warpgroup);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float total = state.total[i];
    total += __shfl_xor_sync(kAllLanes, total, 1);
    total += __shfl_xor_sync(kAllLanes, total, 2);
    const float scale = 1.0F / total;
    const int row = thread / kWarp * 16 + lane / 4 + 8 * i;
#pragma unroll
    for (int n = 0; n < kHeadDim / 8; ++n) {
      auto* at = reinterpret_cast<uint32_t*>(stage + row_piece(row, n)) + lane % 4;
      const float2 gate = unpack_bf16(*at);
      *at = pack_bf16(gated(out[4 * n + 2 * i] * scale, gate.x),
                      gated(out[4 * n + 2 * i + 1] * scale, gate.y));
    }
  }
  named_barrier<kGroupThreads>(2 + warpgroup);
  constexpr int kPieces = kHeadDim / 8;
  for (int i = thread; i < rows.rows * kPieces; i += kGroupThreads) {
    const int row = i / kPieces;
    *reinterpret_cast<uint4*>(static_cast<bf16*>(rows.args.out) + rows.out_index(row) +
                              i % kPieces * 8) =
        *reinterpret_cast<const uint4*>(stage + row_piece(row, i % kPieces));
  }
}

__device__ void attend(PrefillShared& shared, const AttentionArgs& args, const BatchView& batch,
                       const RowTile& tile, int last_position, float scale_log2) {
  const int warpgroup = static_cast<int>(threadIdx.x) / kGroupThreads - 1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) % kGroupThreads / kWarp;
  const int first = tile.first + warpgroup * kGroupRows;
  const GroupRows rows{.args = args,
                       .first_token = batch.cu_seqlens[tile.sequence],
                       .group = args.num_heads / args.num_kv_heads,
                       .kv_head = static_cast<int>(blockIdx.x),
                       .first = first,
                       .rows = max(0, min(kGroupRows, tile.rows - first))};
  load_rows(&shared.query[warpgroup][0][0], args.q, rows);
  async_proxy_fence();
  named_barrier<kGroupThreads>(2 + warpgroup);

  const int last_tile = last_position / kTileKeys;
  // Tiles that this warpgroup's rows see; rows that do not exist see what the last one sees.
  const int group_last = tile.context + (first + rows.rows - 1) / rows.group;
  const int group_first = tile.context + first / rows.group;
  int position[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = min(warp * 16 + lane / 4 + 8 * i, rows.rows - 1);
    position[i] = tile.context + (first + row) / rows.group;
  }
  RowState state;
  float out[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    out[i] = 0.0F;
  }
  for (int j = 0; j <= last_tile; ++j) {
    const int stage = j % kStages;
    const uint32_t parity = j / kStages % 2;
    const int first_key = j * kTileKeys;
    const bool sees = rows.rows > 0 && first_key <= group_last;
    uint32_t weights[kScores / 2];
    mbarrier_wait(shared_address(&shared.keys_landed[stage]), parity);
    if (sees) {
      float scores[kScores];
      score_tile(shared, warpgroup, stage, scores);
      if (first_key + kTileKeys - 1 > group_first) {
#pragma unroll
        for (int i = 0; i < kScores; ++i) {
          const int key = first_key + i / 4 * 8 + lane % 4 * 2 + i % 2;
          scores[i] = key <= position[i / 2 % 2] ? scores[i] : -INFINITY;
        }
      }
      softmax_tile(scores, scale_log2, state, out, weights);
    }
    mbarrier_wait(shared_address(&shared.values_landed[stage]), parity);
    if (j == last_tile && last_position + 1 < first_key + kTileKeys) {
      clear_values(shared, stage, last_position + 1 - first_key);
    }
    if (sees) {
      add_values(shared, stage, weights, out);
    }
    __syncwarp();
    if (lane == 0) {
      mbarrier_arrive(shared_address(&shared.freed[stage]));
    }
  }
  if (rows.rows > 0) {
    finish(&shared.query[warpgroup][0][0], rows, state, warpgroup, out);
  }
}

__device__ void run_tile(PrefillShared& shared, const AttentionArgs& args, const BatchView& batch,
                         float scale_log2) {
  const int group = args.num_heads / args.num_kv_heads;
  RowTile tile;
  if (!find_tile(batch, group, static_cast<int>(blockIdx.y), tile)) {
    return;
  }
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.keys_landed[i]), 1);
      mbarrier_init(shared_address(&shared.values_landed[i]), 1);
      mbarrier_init(shared_address(&shared.freed[i]), kGroups * kGroupThreads / kWarp);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  const int last_row = min(tile.first + kRowTile, tile.rows) - 1;
  const int last_position = tile.context + last_row / group;
  // 168 registers a thread at launch: the loading warpgroup gives most of its own to the others.
  if (threadIdx.x < kGroupThreads) {
    shrink_registers<24>();
    if (threadIdx.x < kWarp) {
      load_tiles_of(shared, args, batch, tile, last_position);
    }
  } else {
    grow_registers<240>();
    attend(shared, args, batch, tile, last_position, scale_log2);
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    attention_prefill_kernel(AttentionArgs args, BatchView batch, float scale_log2) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    run_tile(*reinterpret_cast<PrefillShared*>(memory), args, batch, scale_log2);
  }
}

}  // namespace

void launch_attention_prefill(CudaContext& context, const AttentionArgs& args) {
  const BatchView& batch = *args.batch;
  const int32_t group = args.num_heads / args.num_kv_heads;
  const int32_t sequences = batch.num_chunked >= 0 ? batch.num_chunked : batch.num_seqs;
  const int64_t tiles = int64_t{batch.num_tokens} * group / kRowTile + sequences;
  allow_shared(attention_prefill_kernel, sizeof(PrefillShared));
  launch(context, attention_prefill_kernel,
         {.grid = dim3(static_cast<unsigned>(args.num_kv_heads), static_cast<unsigned>(tiles)),
          .block = dim3(kThreads),
          .shared_bytes = sizeof(PrefillShared)},
         args, batch, args.scale * 1.44269504F);  // log2(e): the softmax is taken in base 2
}

}  // namespace deltaserve::cuda
