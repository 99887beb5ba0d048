// What the kernel of a block of experts for one token is made of: its arguments, its shared memory,
// what its thread blocks tell each other, and pieces of weights in registers.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "backends/cuda/launch.h"
#include "backends/cuda/skinny_tile.cuh"

namespace deltaserve::cuda {

inline constexpr int kOneH = 2048;  // hidden size
inline constexpr int kOneI = 512;   // width of an expert, and of the shared one
inline constexpr int kOneMostK = 16;
inline constexpr int kOneMostE = 512;
inline constexpr int kOneWarps = 16;
inline constexpr int kOneThreads = kOneWarps * kWarp;
inline constexpr int kOneGrid = kOneH / kSkinnyRows;       // a thread block has 16 rows of down
inline constexpr int kOneTiles = 2 * kOneI / kSkinnyRows;  // of an expert's gate and up
inline constexpr int kOneMostTiles = kOneMostK * kOneTiles / kOneGrid;  // of a thread block
inline constexpr int kOneChains = 8;        // of a row's sum in gate, up and down: moe_few.cu
inline constexpr int kOneRouteChains = 16;  // and in the routing products: moe_route.cu
inline constexpr int kOneRingPieces = 4;    // of weights, on the way to a warp: 8 KiB
// A row of down is so many warps' work.
inline constexpr int kOneHalves = kOneI / kSkinnyPiece / kOneRingPieces;
// Elements between the shared expert's rows of down: spreads them over the banks.
inline constexpr int kOneDownStride = kOneI + 32;
static_assert(kOneH == 4 * kOneThreads && kOneH == kOneChains * kOneRingPieces * kSkinnyPiece);
static_assert(kOneH == 2 * kOneRouteChains * kSkinnyPiece && kOneRouteChains == kOneWarps);
static_assert(kOneI == kOneChains * kSkinnyPiece);

// What the thread blocks tell each other: words of a value in the low half and in the high half the
// number of the launch that it is of, so that whoever needs a value waits for nothing but itself.
// Every launch of a model writes the same words and reads no others, so a word has the number of
// this launch or of the one before; numbers repeat after 2^25. All zero before the first.
using MeetingWord = unsigned long long;
struct OneMeeting {
  uint32_t tickets;  // blocks that have begun, of all launches
  uint32_t unused[31];
  alignas(128) MeetingWord results[kOneMostE + 32];     // of the router
  alignas(128) MeetingWord act[kOneMostK * kOneI / 2];  // two of act's [K][I] each
  alignas(128) MeetingWord shared_act[kOneI / 2];
};
static_assert((kOneGrid & (kOneGrid - 1)) == 0);  // tickets wrap around between launches

struct MoeOne {
  float* residual;           // [H]
  const float* delta;        // [H] or null
  const float* norm_weight;  // [H]
  float eps;
  const bf16* router;  // [router_rows][H]: experts, then the shared one's gate
  int32_t router_rows;
  const bf16* shared_gate_up;  // [2 I][H] in groups
  const bf16* gate_up;         // [E][2 I][H] in groups
  const bf16* down;            // [E][H][I]
  const bf16* shared_down;     // [H][I]
  int32_t E;
  int32_t K;
  bool renormalize;
  OneMeeting* meeting;
};

struct MoeOneShared {
  alignas(16) bf16 x[kOneH];                            // normed
  alignas(16) bf16 act[kOneWarps][kOneI / kOneHalves];  // of x of down, a warp's part
  alignas(16) bf16 shared_act[kOneI];                   // and of the shared expert's
  alignas(16) bf16 shared_down[kSkinnyRows][kOneDownStride];
  float partial[kOneWarps];
  int32_t ids[kOneMostK];
  float weights[kOneMostK];
  float gate;                             // of the shared expert
  uint32_t launch;                        // this one's number
  alignas(16) float before[kSkinnyRows];  // the residual's elements that are this block's
  float dots[kOneMostK + 1][kSkinnyRows];
  struct {
    union {
      float route[kOneRouteChains][kSkinnyRows];
      float gate_up[kOneMostTiles][kOneChains][kSkinnyRows];
    };
    float down[kOneMostK + 1][kOneChains][kSkinnyRows];
  } chains;
};

// The tickets that one thread of each block has seen, behind the wait for the kernel before; the
// number of this launch is how many launches of them there are, and one. A block's own is not among
// those that it has seen, and so all of a launch make the same number of them.
__device__ __forceinline__ uint32_t take_ticket(OneMeeting* meeting) {
  uint32_t seen;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(seen)
               : "l"(&meeting->tickets)
               : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(&meeting->tickets) : "memory");
  return seen;
}

__device__ __forceinline__ void publish(MeetingWord* place, uint32_t launch, uint32_t value) {
  const MeetingWord word = MeetingWord{launch} << 32U | value;
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(place), "l"(word) : "memory");
}

__device__ __forceinline__ MeetingWord look_at(const MeetingWord* place) {
  MeetingWord word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(place) : "memory");
  return word;
}
// Four words, each as a whole; `place` is aligned to two.
__device__ __forceinline__ void look_at_four(const MeetingWord* place, MeetingWord (&words)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words[i]), "=l"(words[i + 1])
                 : "l"(place + i)
                 : "memory");
  }
}
__device__ __forceinline__ bool is_of(MeetingWord word, uint32_t launch) {
  return static_cast<uint32_t>(word >> 32U) == launch;
}
__device__ __forceinline__ uint32_t value_of(MeetingWord word) {
  return static_cast<uint32_t>(word);
}

// 16 rows of 64 columns, as skinny_tile.cuh has them: rows g and g + 8, 16-byte parts t and t + 4.
using WeightPiece = uint4[2][2];
using WeightRing = WeightPiece[kOneRingPieces];

// `at`: this lane's place in row g of a matrix of `columns`.
__device__ __forceinline__ void load_piece(const bf16* at, int64_t columns, WeightPiece& to) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[i / 2][i % 2] = load_once(at + i / 2 * 8 * columns + i % 2 * (kSkinnyPiece / 2));
  }
}

// sums += the piece times 64 of x, `x` being this lane's place among them. Only lanes 0 to 3 have a
// column.
__device__ __forceinline__ void multiply_piece(const WeightPiece& w, const bf16* x,
                                               float (&sums)[4]) {
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    uint4 b = make_uint4(0, 0, 0, 0);
    if (threadIdx.x % kWarp < 4) {
      b = *reinterpret_cast<const uint4*>(x + p * (kSkinnyPiece / 2));
    }
    const uint4& l = w[0][p];
    const uint4& h = w[1][p];
    mma_bf16(sums, l.x, h.x, l.y, h.y, b.x, b.y);
    mma_bf16(sums, l.z, h.z, l.w, h.w, b.z, b.w);
  }
}

// The sums' only column: a chain's part of 16 rows.
__device__ __forceinline__ void keep_chain(const float (&sums)[4], float (&chain)[kSkinnyRows]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane % 4 == 0) {
    chain[lane / 4] = sums[0];
    chain[lane / 4 + 8] = sums[2];
  }
}

template <int Chains>
__device__ __forceinline__ float add_chains(const float (&chains)[Chains][kSkinnyRows], int row) {
  float sum = 0.0F;
#pragma unroll
  for (int c = 0; c < Chains; ++c) {
    sum += chains[c][row];
  }
  return sum;
}

// Eight rows of act of a tile, `chains` being its gate and up, from `place` on; by one warp.
template <int Chains>
__device__ __forceinline__ void publish_act(const float (&chains)[Chains][kSkinnyRows],
                                            MeetingWord* place, uint32_t launch) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const float sum = add_chains(chains, lane % kSkinnyRows);
  const float up = __shfl_down_sync(kAllLanes, sum, kGateUpGroup);
  const float value = silu(sum) * up;
  const float next = __shfl_down_sync(kAllLanes, value, 1);
  if (lane < static_cast<int>(kGateUpGroup) && lane % 2 == 0) {
    publish(place + lane / 2, launch, pack_bf16(value, next));
  }
}

// Asks for the shared expert's 16 rows of down that are this block's.
__device__ __forceinline__ void fetch_shared_down(const MoeOne& block, MoeOneShared& shared) {
  constexpr int kRowParts = kOneI / 8;
#pragma unroll
  for (int i = 0; i < kSkinnyRows * kRowParts / kOneThreads; ++i) {
    const int part = static_cast<int>(threadIdx.x) + i * kOneThreads;
    const int row = part / kRowParts;
    const int column = part % kRowParts * 8;
    __pipeline_memcpy_async(
        &shared.shared_down[row][column],
        block.shared_down + (int64_t{blockIdx.x} * kSkinnyRows + row) * kOneI + column,
        sizeof(uint4));
  }
  __pipeline_commit();
}

// The norm of the row into shared.x, in the order of add_rms_norm.cu. `factors` are this thread's
// four of the norm's weight.
__device__ __forceinline__ void norm_row(const MoeOne& block, const float (&factors)[4],
                                         MoeOneShared& shared) {
  const auto thread = static_cast<int>(threadIdx.x);
  uint32_t seen = 0;  // on its way with the residual, waited for when x is there
  if (thread == 0) {
    seen = take_ticket(block.meeting);
  }
  float values[4];
  load(block.residual + thread * 4, values);
  if (block.delta != nullptr) {
    float added[4];
    load(block.delta + thread * 4, added);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      values[j] += added[j];
    }
  }
  constexpr int kOwners = kSkinnyRows / 4;  // threads that hold this block's elements
  if (thread / kOwners == static_cast<int>(blockIdx.x)) {
    store(shared.before + thread % kOwners * 4, values);
  }
  float sum = 0.0F;
#pragma unroll
  for (const float value : values) {
    sum += value * value;
  }
  sum = warp_sum(sum);
  if (thread % kWarp == 0) {
    shared.partial[thread / kWarp] = sum;
  }
  __syncthreads();
  sum = warp_sum<kOneWarps>(shared.partial[thread % kOneWarps]);
  const float scale = 1.0F / sqrtf(sum / static_cast<float>(kOneH) + block.eps);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    values[j] *= scale * (1.0F + factors[j]);
  }
  store(shared.x + thread * 4, values);
  if (thread == 0) {
    asm volatile("" : "+r"(seen));  // or it is divided, and waited for, where it was asked for
    shared.launch = seen / kOneGrid + 1;
  }
  __pipeline_wait_prior(0);  // the shared expert's rows of down
  __syncthreads();
}

}  // namespace deltaserve::cuda
