// The moving parts of dense_segment.cuh: what a thread block shares, the threads that copy tiles of
// W and x into its ring, and the two warpgroups' products of them. A ring goes on over the ends of
// products: copies of W wait for nothing but room, those of x for the product before theirs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/streamed_product.cuh"
#include "backends/cuda/wgmma_narrow.cuh"

namespace deltaserve::cuda {

// The products: the mixer's output, gate and up, down, the next layer's input.
inline constexpr int kSegmentPhases = 4;
inline constexpr int kSegmentThreads = kStreamConsumers + 2 * kWarp;  // copies of W, copies of x
inline constexpr size_t kSegmentShared = 227 * 1024;                  // of a block of sm_90

// A stage of the ring is `Boxes` tiles of 64 of K.
template <int Tokens, int Boxes, int MostStages = 64>
struct SegmentForm {
  static constexpr int kTokens = Tokens;
  static constexpr int kBoxes = Boxes;
  static constexpr int kK = Boxes * kStreamK;
  static constexpr int kBoxBytes = kTokens * kStreamK * 2;  // of x
  static constexpr int kStageBytes = Boxes * (kStreamTileBytes + kBoxBytes);
  static constexpr int kFitting = static_cast<int>((kSegmentShared - 2048) / kStageBytes);
  static constexpr int kStages = kFitting < MostStages ? kFitting : MostStages;
};

template <typename Form>
struct SegmentShared {
  std::byte weight[Form::kStages][Form::kBoxes][kStreamTileBytes];
  std::byte x[Form::kStages][Form::kBoxes][Form::kBoxBytes];
  uint64_t full[Form::kStages];
  uint64_t empty[Form::kStages];
  float squares[kStreamConsumers / kWarp][Form::kTokens];  // of a tile's residuals, a warp's rows
  float scales[Form::kTokens];                             // 1 / rms of x
};

struct SegmentProduct {
  int32_t tiles;     // of 128 rows of W
  int32_t k_blocks;  // of Form::kK in a tile
};

struct SegmentMaps {
  CUtensorMap weight[kSegmentPhases];
  CUtensorMap x[kSegmentPhases];
};

struct SegmentParams {
  SegmentProduct products[kSegmentPhases];
  int32_t M;
  int32_t H;
  float eps;
  float* residual;          // [M, H]
  const float* weights[2];  // [H] of the norms behind out and down
  bf16* x;                  // [M, H]: residual * (1 + weight)
  float* squares[2];        // [H / 128][Form::kTokens]: sums of squares of residuals
  bf16* inner;              // [M, inner_stride]
  int64_t inner_stride;
  int32_t I;
  bf16* projected;  // [M, projected_stride]
  int64_t projected_stride;
  int32_t N;         // columns of projected
  float* partials;   // [blocks][Form::kTokens / 8][kStreamConsumers][4]
  int32_t* flags;    // [blocks]: whether a block's partial sums are there
  int32_t* arrived;  // [kSegmentPhases + 1]: blocks that have ended each, and gone
};

__device__ __forceinline__ UnitRange units_of(const SegmentProduct& product, int block) {
  const int64_t units = int64_t{product.tiles} * product.k_blocks;
  return {static_cast<int>(units * block / gridDim.x),
          static_cast<int>(units * (block + 1) / gridDim.x)};
}

// Waits until all blocks have ended the product before `phase`. For one thread.
__device__ __forceinline__ void wait_for_phase(const SegmentParams& params, int phase) {
  while (phase > 0 && load_flag(params.arrived + phase - 1) != static_cast<int32_t>(gridDim.x)) {
  }
}

template <typename Form>
struct SegmentRing {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void advance() {
    stage = stage + 1 == Form::kStages ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
};

// Calls copy(phase, column, row of W, stage) for each unit of the block once its stage is free.
template <typename Form, typename Begin, typename Copy>
__device__ __forceinline__ void for_units(SegmentShared<Form>& shared, const SegmentParams& params,
                                          Begin begin, Copy copy) {
  SegmentRing<Form> ring;
  ring.parity = 1;  // free at first
#pragma unroll
  for (int phase = 0; phase < kSegmentPhases; ++phase) {
    const SegmentProduct product = params.products[phase];
    const UnitRange range = units_of(product, static_cast<int>(blockIdx.x));
    int row = range.begin / product.k_blocks * kStreamRows;
    int column = range.begin % product.k_blocks;
    begin(phase);
    for (int unit = range.begin; unit < range.end; ++unit) {
      mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity);
      copy(phase, column * Form::kK, row, ring.stage);
      ring.advance();
      if (++column == product.k_blocks) {
        column = 0;
        row += kStreamRows;
      }
    }
  }
}

template <typename Form>
__device__ __forceinline__ void copy_weights(SegmentShared<Form>& shared, const SegmentMaps& maps,
                                             const SegmentParams& params) {
  for_units<Form>(
      shared, params,
      [](int phase) {
        if (phase == kSegmentPhases - 1) {
          let_next_start();
        }
      },
      [&](int phase, int column, int row, int stage) {
        const uint32_t full = shared_address(&shared.full[stage]);
        mbarrier_arrive_expect(full, Form::kStageBytes);
#pragma unroll
        for (int b = 0; b < Form::kBoxes; ++b) {
          tensor_load(shared_address(shared.weight[stage][b]), maps.weight[phase],
                      column + b * kStreamK, row, full);
        }
      });
}

template <typename Form>
__device__ __forceinline__ void copy_x(SegmentShared<Form>& shared, const SegmentMaps& maps,
                                       const SegmentParams& params) {
  wait_for_previous();
  for_units<Form>(
      shared, params,
      [&](int phase) {
        wait_for_phase(params, phase);
        // What blocks wrote with ordinary stores is read by the copy engine.
        asm volatile("fence.proxy.async;" ::: "memory");
      },
      [&](int phase, int column, int, int stage) {
#pragma unroll
        for (int b = 0; b < Form::kBoxes; ++b) {
          tensor_load(shared_address(shared.x[stage][b]), maps.x[phase], column + b * kStreamK, 0,
                      shared_address(&shared.full[stage]));
        }
      });
}

// sums [64 rows][Form::kTokens] of a warpgroup over the next `count` units.
template <typename Form>
__device__ __forceinline__ void multiply_units(SegmentShared<Form>& shared, int count,
                                               SegmentRing<Form>& ring,
                                               float (&sums)[Form::kTokens / 2]) {
  const int group = static_cast<int>(threadIdx.x) / 128;
#pragma unroll
  for (float& sum : sums) {
    sum = 0.0F;
  }
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int b = 0; b < Form::kBoxes; ++b) {
      const uint64_t w =
          wgmma_operand(shared_address(shared.weight[ring.stage][b]) + group * 64 * 128, 16, 1024);
      const uint64_t x = wgmma_operand(shared_address(shared.x[ring.stage][b]), 16, 1024);
#pragma unroll
      for (int k = 0; k < kStreamK / 16; ++k) {
        wgmma_narrow(sums, w + 2 * k, x + 2 * k);
      }
    }
    wgmma_commit();
    wgmma_wait();
    pin(sums);
    if (threadIdx.x % kWarp == 0) {
      mbarrier_arrive(shared_address(&shared.empty[ring.stage]));
    }
    ring.advance();
  }
}

}  // namespace deltaserve::cuda
