// The kernel of dense_segment.cu: four products with the norms between them in one launch of one
// thread block a multiprocessor. While a product waits for the one before, the copies of its W go
// on: the ring of tiles is as large as shared memory allows, and only copies of x wait.
//
// A product is cut as in streamed_product.cu: units of 128 rows of W by 64 of K, an equal run of
// them a block, tiles that blocks share summed by the block that has K's beginning, in order. A
// norm's factor a row of x commutes with the product: out and down leave residual * (1 + weight) in
// bfloat16 and sums of squares of their tiles, and the product after multiplies its sums by
// 1 / rms.
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
template <int Tokens, int Boxes>
struct SegmentForm {
  static constexpr int kTokens = Tokens;
  static constexpr int kBoxes = Boxes;
  static constexpr int kK = Boxes * kStreamK;
  static constexpr int kBoxBytes = kTokens * kStreamK * 2;  // of x
  static constexpr int kStageBytes = Boxes * (kStreamTileBytes + kBoxBytes);
  static constexpr int kStages = static_cast<int>((kSegmentShared - 2048) / kStageBytes);
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

template <typename Form>
__device__ __forceinline__ float* partial_of(const SegmentParams& params, int block) {
  return params.partials +
         (int64_t{block} * (Form::kTokens / 8) * kStreamConsumers + threadIdx.x) * 4;
}

// Leaves sums for the block that has the tile's beginning.
template <typename Form>
__device__ __forceinline__ void give_partial(const SegmentParams& params,
                                             const float (&sums)[Form::kTokens / 2]) {
  const int block = static_cast<int>(blockIdx.x);
  float* to = partial_of<Form>(params, block);
#pragma unroll
  for (int p = 0; p < Form::kTokens / 8; ++p) {
    __stcg(reinterpret_cast<float4*>(to + p * kStreamConsumers * 4),
           make_float4(sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]));
  }
  __threadfence();
  named_barrier<kStreamConsumers>(1);
  if (threadIdx.x == 0) {
    store_flag(params.flags + block);
  }
}

// Adds what the blocks after this one left of the tile that ends at unit `tile_end`, in order.
template <typename Form>
__device__ __forceinline__ void take_partials(const SegmentParams& params,
                                              const SegmentProduct& product, int tile_end,
                                              float (&sums)[Form::kTokens / 2]) {
  for (int block = static_cast<int>(blockIdx.x) + 1;; ++block) {
    const UnitRange range = units_of(product, block);
    if (range.begin < range.end) {
      if (threadIdx.x == 0) {
        while (load_flag(params.flags + block) == 0) {
        }
        params.flags[block] = 0;
      }
      named_barrier<kStreamConsumers>(1);
      const float* from = partial_of<Form>(params, block);
#pragma unroll
      for (int p = 0; p < Form::kTokens / 8; ++p) {
        const float4 part =
            __ldcg(reinterpret_cast<const float4*>(from + p * kStreamConsumers * 4));
        sums[4 * p] += part.x;
        sums[4 * p + 1] += part.y;
        sums[4 * p + 2] += part.z;
        sums[4 * p + 3] += part.w;
      }
    }
    if (range.end >= tile_end) {
      return;
    }
  }
}

// 1 / rms of each row of x from its tiles' sums of squares, in order.
template <typename Form>
__device__ __forceinline__ void make_scales(SegmentShared<Form>& shared,
                                            const SegmentParams& params, int phase) {
  const float* squares = params.squares[phase / 2];
  if (threadIdx.x == 0) {
    wait_for_phase(params, phase);
  }
  named_barrier<kStreamConsumers>(1);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int token = warp; token < Form::kTokens; token += kStreamConsumers / kWarp) {
    float sum = 0.0F;
    for (int tile = lane; tile < params.H / kStreamRows; tile += kWarp) {
      sum += __ldcg(squares + tile * Form::kTokens + token);
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      shared.scales[token] = 1.0F / sqrtf(sum / static_cast<float>(params.H) + params.eps);
    }
  }
  named_barrier<kStreamConsumers>(1);
}

// A thread holds rows g and g + 8 of its warp's 16, and tokens 8 p + 2 t and the next.
//
// The residual's values where a thread's sums of a tile belong.
template <typename Form>
__device__ __forceinline__ void load_residual(const SegmentParams& params, int tile,
                                              float (&values)[Form::kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = tile * kStreamRows + static_cast<int>(threadIdx.x) / kWarp * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < Form::kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    values[i] = token < params.M
                    ? __ldcg(params.residual + int64_t{token} * params.H + row + i % 4 / 2 * 8)
                    : 0.0F;
  }
}

// residual = values + sums; leaves what the next product needs of it.
template <typename Form>
__device__ __forceinline__ void add_tile(SegmentShared<Form>& shared, const SegmentParams& params,
                                         int norm, int tile,
                                         const float (&values)[Form::kTokens / 2],
                                         const float (&sums)[Form::kTokens / 2]) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = tile * kStreamRows + warp * 16 + lane / 4;
  const float factors[2] = {1.0F + params.weights[norm][row], 1.0F + params.weights[norm][row + 8]};
  float squares[Form::kTokens / 4] = {};
#pragma unroll
  for (int i = 0; i < Form::kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const int half = i % 4 / 2;
    if (token < params.M) {
      const int64_t at = int64_t{token} * params.H + row + half * 8;
      const float value = values[i] + sums[i];
      __stcg(params.residual + at, value);
      params.x[at] = from_float<bf16>(value * factors[half]);
      squares[i / 4 * 2 + i % 2] += value * value;
    }
  }
#pragma unroll
  for (int j = 0; j < Form::kTokens / 4; ++j) {
#pragma unroll
    for (int offset = 4; offset < kWarp; offset *= 2) {
      squares[j] += __shfl_xor_sync(kAllLanes, squares[j], offset);
    }
    if (lane < 4) {
      shared.squares[warp][j / 2 * 8 + lane * 2 + j % 2] = squares[j];
    }
  }
  named_barrier<kStreamConsumers>(1);
  if (threadIdx.x < Form::kTokens) {
    float sum = 0.0F;
#pragma unroll
    for (int w = 0; w < kStreamConsumers / kWarp; ++w) {
      sum += shared.squares[w][threadIdx.x];
    }
    params.squares[norm][tile * Form::kTokens + static_cast<int>(threadIdx.x)] = sum;
  }
  named_barrier<kStreamConsumers>(1);
}

// Rows of W in groups of 8 gate and 8 up: a warp's rows g and g + 8 are a pair.
template <typename Form>
__device__ __forceinline__ void gate_tile(SegmentShared<Form>& shared, const SegmentParams& params,
                                          int tile, const float (&sums)[Form::kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int column =
      (tile * kStreamRows + static_cast<int>(threadIdx.x) / kWarp * 16) / 2 + lane / 4;
#pragma unroll
  for (int p = 0; p < Form::kTokens / 4; ++p) {
    const int i = p / 2 * 4 + p % 2;
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (column < params.I && token < params.M) {
      const float scale = shared.scales[token];
      params.inner[token * params.inner_stride + column] =
          from_float<bf16>(silu(scale * sums[i]) * (scale * sums[i + 2]));
    }
  }
}

template <typename Form>
__device__ __forceinline__ void project_tile(SegmentShared<Form>& shared,
                                             const SegmentParams& params, int tile,
                                             const float (&sums)[Form::kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int first = tile * kStreamRows + static_cast<int>(threadIdx.x) / kWarp * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < Form::kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const int row = first + i % 4 / 2 * 8;
    if (row < params.N && token < params.M) {
      params.projected[token * params.projected_stride + row] =
          from_float<bf16>(shared.scales[token] * sums[i]);
    }
  }
}

template <typename Form, int kPhase>
__device__ __forceinline__ void multiply_phase(SegmentShared<Form>& shared,
                                               const SegmentParams& params,
                                               SegmentRing<Form>& ring) {
  const SegmentProduct product = params.products[kPhase];
  const UnitRange range = units_of(product, static_cast<int>(blockIdx.x));
  constexpr bool kAdds = kPhase % 2 == 0;  // to the residual; else x is to be scaled
  float sums[Form::kTokens / 2];
  float values[Form::kTokens / 2];
  for (int unit = range.begin; unit < range.end;) {
    const int tile = unit / product.k_blocks;
    const int tile_end = (tile + 1) * product.k_blocks;
    const int end = min(range.end, tile_end);
    if (kAdds && unit == tile * product.k_blocks) {
      load_residual<Form>(params, tile, values);
    }
    multiply_units<Form>(shared, end - unit, ring, sums);
    if (!kAdds && unit == range.begin) {
      make_scales<Form>(shared, params, kPhase);
    }
    if (unit > tile * product.k_blocks) {
      give_partial<Form>(params, sums);
    } else {
      if (end < tile_end) {
        take_partials<Form>(params, product, tile_end, sums);
      }
      if constexpr (kAdds) {
        add_tile<Form>(shared, params, kPhase / 2, tile, values, sums);
      } else if constexpr (kPhase == 1) {
        gate_tile<Form>(shared, params, tile, sums);
      } else {
        project_tile<Form>(shared, params, tile, sums);
      }
    }
    unit = end;
  }
  // What this block wrote is read by the copy engine of others.
  asm volatile("fence.proxy.async;" ::: "memory");
  __threadfence();
  named_barrier<kStreamConsumers>(1);
  if (kPhase + 1 < kSegmentPhases && threadIdx.x == 0) {
    atomicAdd(params.arrived + kPhase, 1);
  }
}

// The last block to go leaves the counters at zero.
__device__ __forceinline__ void leave(const SegmentParams& params) {
  if (threadIdx.x == 0) {
    const int before = atomicAdd(params.arrived + kSegmentPhases, 1);
    if (before + 1 == static_cast<int>(gridDim.x)) {
      for (int i = 0; i <= kSegmentPhases; ++i) {
        params.arrived[i] = 0;
      }
    }
  }
}

template <typename Form>
__global__ void __launch_bounds__(kSegmentThreads, 1)
    dense_segment(const __grid_constant__ SegmentMaps maps, const SegmentParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<SegmentShared<Form>*>(memory);
    if (threadIdx.x == kStreamConsumers) {
      for (int i = 0; i < Form::kStages; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), kStreamConsumers / kWarp);
      }
      mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x >= kStreamConsumers) {
      if (threadIdx.x == kStreamConsumers) {
        copy_weights<Form>(shared, maps, params);
      } else if (threadIdx.x == kStreamConsumers + kWarp) {
        copy_x<Form>(shared, maps, params);
      }
      return;
    }
    wait_for_previous();
    SegmentRing<Form> ring;
    multiply_phase<Form, 0>(shared, params, ring);
    multiply_phase<Form, 1>(shared, params, ring);
    multiply_phase<Form, 2>(shared, params, ring);
    multiply_phase<Form, 3>(shared, params, ring);
    leave(params);
  }
}

}  // namespace deltaserve::cuda
