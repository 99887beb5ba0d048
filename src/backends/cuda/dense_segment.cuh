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

#include "backends/cuda/dense_segment_ring.cuh"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"

namespace deltaserve::cuda {

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
  constexpr int kAtOnce = 4;
  const int first = static_cast<int>(blockIdx.x) + 1;
  int last = first;
  while (units_of(product, last).end < tile_end) {
    ++last;
  }
  for (int block = first + static_cast<int>(threadIdx.x); block <= last;
       block += kStreamConsumers) {
    while (load_flag(params.flags + block) == 0) {
    }
    params.flags[block] = 0;
  }
  named_barrier<kStreamConsumers>(1);
  for (int begin = first; begin <= last; begin += kAtOnce) {
    float4 parts[kAtOnce][Form::kTokens / 8];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float* from = partial_of<Form>(params, min(begin + i, last));
#pragma unroll
      for (int p = 0; p < Form::kTokens / 8; ++p) {
        parts[i][p] = __ldcg(reinterpret_cast<const float4*>(from + p * kStreamConsumers * 4));
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (begin + i <= last) {
#pragma unroll
        for (int p = 0; p < Form::kTokens / 8; ++p) {
          sums[4 * p] += parts[i][p].x;
          sums[4 * p + 1] += parts[i][p].y;
          sums[4 * p + 2] += parts[i][p].z;
          sums[4 * p + 3] += parts[i][p].w;
        }
      }
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
