// The parts of fixed_product.cu: its forms, the ring of stages that one thread of a block keeps
// coming, over the ends of tiles too, and the warpgroups that multiply them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/wgmma_tokens.cuh"
#include "backends/cuda/wgmma_wide.cuh"
#include "ops/vision_args.h"

namespace deltaserve::cuda {

inline constexpr int kFixedK = 64;  // of a stage: 128 bytes, a swizzled row

// A thread block multiplies 64 Groups rows of W with Tokens rows of x. Blocks of them share a
// multiprocessor, whose memory their rings fill.
template <int Tokens, int Groups, int Blocks, int Stages>
struct FixedForm {
  static constexpr int kTokens = Tokens;
  static constexpr int kRows = Groups * 64;
  static constexpr int kBlocks = Blocks;
  static constexpr int kStages = Stages;
  static constexpr int kConsumers = Groups * 128;
  static constexpr int kThreads = kConsumers + kWarp;
  static constexpr int kSums = Tokens / 2;  // of a thread: 64 x Tokens over 128 threads
};

template <typename Form>
struct FixedShared {
  std::byte weight[Form::kStages][Form::kRows * kFixedK * 2];
  std::byte x[Form::kStages][Form::kTokens * kFixedK * 2];
  uint64_t full[Form::kStages];
  uint64_t empty[Form::kStages];
};

struct FixedParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  const float* bias;  // [columns], for results that have one
  Activation activation;
  int32_t M;
  int32_t columns;      // of out
  int32_t steps;        // stages of K, the last one filled up with zeros
  int32_t token_tiles;  // of x's rows
  int32_t tiles;        // in all: those of the same rows of W one after the other
  bool pairs;           // rows of out in bfloat16 may be written two columns at a time
};

// A place in the ring of stages.
template <typename Form>
struct FixedRing {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    stage = stage + 1 == Form::kStages ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
};

// One thread starts all copies of a thread block. W is asked for before the kernels before this one
// have ended, as far as the ring has room.
template <typename Form>
__device__ __forceinline__ void load_fixed_tiles(FixedShared<Form>& shared,
                                                 const CUtensorMap& weight, const CUtensorMap& x,
                                                 const FixedParams& params) {
  constexpr uint32_t kStageBytes = sizeof(shared.weight[0]) + sizeof(shared.x[0]);
  const auto load_weight = [&](int index, int step, int stage) {
    const uint32_t full = shared_address(&shared.full[stage]);
    mbarrier_arrive_expect(full, kStageBytes);
    tensor_load(shared_address(shared.weight[stage]), weight, step * kFixedK,
                index / params.token_tiles * Form::kRows, full);
  };
  const auto load_x = [&](int index, int step, int stage) {
    tensor_load(shared_address(shared.x[stage]), x, step * kFixedK,
                index % params.token_tiles * Form::kTokens, shared_address(&shared.full[stage]));
  };
  const auto first_tile = static_cast<int>(blockIdx.x);
  const int ahead = min(Form::kStages, params.steps);
  for (int step = 0; step < ahead; ++step) {
    load_weight(first_tile, step, step);
  }
  let_next_start();
  wait_for_previous();
  for (int step = 0; step < ahead; ++step) {
    load_x(first_tile, step, step);
  }
  FixedRing<Form> ring;
  for (int index = first_tile; index < params.tiles; index += static_cast<int>(gridDim.x)) {
    for (int step = 0; step < params.steps; ++step) {
      if (index != first_tile || step >= ahead) {
        mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
        load_weight(index, step, ring.stage);
        load_x(index, step, ring.stage);
      }
      ring.advance();
    }
  }
}

template <int N>
__device__ __forceinline__ void fixed_wgmma(float (&sums)[N], uint64_t a, uint64_t b,
                                            bool accumulate) {
  if constexpr (N == 128) {
    wgmma_n256_shared(sums, a, b, accumulate);
  } else {
    wgmma_tokens(sums, a, b, accumulate);
  }
}

// sums [64 rows of W][kTokens] of a warpgroup of one tile: K in steps of 16 from its beginning,
// into the same accumulators. This is the order that all forms and wide_product.cu have.
template <typename Form>
__device__ __forceinline__ void multiply_fixed_tile(FixedShared<Form>& shared, int steps,
                                                    FixedRing<Form>& ring,
                                                    float (&sums)[Form::kSums]) {
  const int group = static_cast<int>(threadIdx.x) / 128;
  const bool first_lane = threadIdx.x % kWarp == 0;
  int before = 0;  // the stage whose products may still run
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const uint64_t a =
        wgmma_operand(shared_address(shared.weight[ring.stage]) + group * 64 * 128, 16, 1024);
    const uint64_t b = wgmma_operand(shared_address(shared.x[ring.stage]), 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kFixedK / 16; ++k) {
      fixed_wgmma(sums, a + 2 * k, b + 2 * k, step != 0 || k != 0);
    }
    wgmma_commit();
    wgmma_wait_for<1>();
    if (step != 0 && first_lane) {
      mbarrier_arrive(shared_address(&shared.empty[before]));
    }
    before = ring.stage;
    ring.advance();
  }
  wgmma_wait();
  if (first_lane) {
    mbarrier_arrive(shared_address(&shared.empty[before]));
  }
}

}  // namespace deltaserve::cuda
