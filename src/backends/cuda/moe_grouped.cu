// The experts' products for many tokens, bfloat16, on wgmma: tiles of 128 entries of one expert by
// 128 rows of its matrix, found in the list that moe_sort.cu made on the device; surplus thread
// blocks leave at once. Rows of x are gathered by 16-byte copies straight into the swizzled tile,
// so that no permuted copy of x is ever written. Gate and up rows lie in groups of eight: a thread
// holds both of a pair, and silu(gate) * up is the product's epilogue.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"
#include "backends/cuda/wgmma_wide.cuh"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = 256;  // two warpgroups of 64 entries each
constexpr int kTileRows = static_cast<int>(kMoeTileRows);
constexpr int kTileColumns = 128;  // rows of the matrix
constexpr int kTileK = 64;         // 128 bytes: a swizzled row
constexpr int kStages = 3;         // 96 KiB: two thread blocks fit a multiprocessor
constexpr int kCopies = 4;         // 16-byte pieces of a tile that a thread copies

struct GroupedShared {
  std::byte x[kStages][kTileRows * 128];
  std::byte weight[kStages][kTileColumns * 128];
};

struct GroupedParams {
  MoeSort sort;
  int32_t K;           // entries of a token
  const bf16* weight;  // [E][rows][columns]
  int64_t rows;
  int64_t columns;
  const bf16* x;  // gate_up: [T][x_stride], of a token; down: [entries][x_stride], sorted
  int64_t x_stride;
  void* out;  // gate_up: [entries][rows / 2] bf16, sorted; down: [entries][rows] float32, by entry
};

// Copies 16 bytes, or writes zeros if not `valid`.
__device__ __forceinline__ void copy_16(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most N of this thread's committed groups are under way.
template <int N>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// The pieces that a thread copies of every tile: column t % 8 of rows t / 8 + 32 i.
struct CopyPlan {
  const bf16* x[kCopies];
  bool x_valid[kCopies];
  const bf16* weight;  // of i = 0; the others are 32 rows further each
  int64_t weight_step;
  uint32_t to;      // byte in a tile; the others are 32 rows further each
  int weight_rows;  // of the tile that exist, counted from this thread's first

  __device__ void copy(uint32_t x_tile, uint32_t weight_tile, int64_t k) const {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_16(x_tile + to + i * 32 * 128, x[i] + k, x_valid[i]);
    }
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool valid = 32 * i < weight_rows;
      copy_16(weight_tile + to + i * 32 * 128, weight + (valid ? i * weight_step : 0) + k, valid);
    }
  }
};

template <bool kGateUp>
__device__ CopyPlan plan_copies(const GroupedParams& params, int expert, int first, int rows,
                                int64_t first_column) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / 8;
  const int piece = thread % 8;
  CopyPlan plan;
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int r = row + 32 * i;
    plan.x_valid[i] = r < rows;
    const int place = first + (plan.x_valid[i] ? r : 0);
    const int64_t x_row = kGateUp ? params.sort.sorted[place] / params.K : place;
    plan.x[i] = params.x + x_row * params.x_stride + piece * 8;
  }
  plan.weight_rows = static_cast<int>(params.rows - first_column) - row;
  const int64_t weight_row = expert * params.rows + first_column + (plan.weight_rows > 0 ? row : 0);
  plan.weight = params.weight + weight_row * params.columns + piece * 8;
  plan.weight_step = 32 * params.columns;
  plan.to = static_cast<uint32_t>(row * 128 + (piece ^ (row % 8)) * 16);
  return plan;
}

// silu(gate) * up of a thread's 2 x 64 results, in the order of the sorted entries.
__device__ void store_gate_up(const GroupedParams& params, int place, int64_t first_column,
                              const float (&sums)[64], int half) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t I = params.rows / 2;
  bf16* out = static_cast<bf16*>(params.out) + place * I + first_column / 2 + lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kTileColumns / 16; ++n) {
    const float* gate = &sums[8 * n + 2 * half];
    const float* up = gate + 4;
    if (first_column / 2 + n * 8 < I) {
      *reinterpret_cast<uint32_t*>(out + n * 8) =
          pack_bf16(silu(gate[0]) * up[0], silu(gate[1]) * up[1]);
    }
  }
}

__device__ void store_down(const GroupedParams& params, int place, int64_t first_column,
                           const float (&sums)[64], int half) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t entry = params.sort.sorted[place];
  float* out = static_cast<float*>(params.out) + entry * params.rows + first_column + lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kTileColumns / 8; ++n) {
    if (first_column + n * 8 < params.rows) {
      *reinterpret_cast<float2*>(out + n * 8) =
          make_float2(sums[4 * n + 2 * half], sums[4 * n + 2 * half + 1]);
    }
  }
}

template <bool kGateUp>
__device__ void multiply_tile(GroupedShared& shared, const GroupedParams& params) {
  const int tile = static_cast<int>(blockIdx.y);
  if (tile >= *params.sort.num_tiles) {
    return;
  }
  const int expert = params.sort.tile_expert[tile];
  const int first = params.sort.tile_first[tile];
  const int rows = params.sort.tile_rows[tile];
  const int64_t first_column = int64_t{blockIdx.x} * kTileColumns;
  const CopyPlan plan = plan_copies<kGateUp>(params, expert, first, rows, first_column);
  const auto steps = static_cast<int>(params.columns / kTileK);
  const auto start_copy = [&](int step) {
    if (step < steps) {
      const int stage = step % kStages;
      plan.copy(shared_address(shared.x[stage]), shared_address(shared.weight[stage]),
                int64_t{step} * kTileK);
    }
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    start_copy(i);
  }
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  const bool has_rows = warpgroup * 64 < rows;
  float sums[64];
#pragma unroll
  for (float& sum : sums) {
    sum = 0.0F;
  }
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    wait_copies<kStages - 2>();
    async_proxy_fence();
    __syncthreads();
    // The stage of the step before is free: all have passed its wait.
    start_copy(step + kStages - 1);
    if (has_rows) {
      const uint64_t x =
          wgmma_operand(shared_address(shared.x[stage]) + warpgroup * 64 * 128, 16, 1024);
      const uint64_t weight = wgmma_operand(shared_address(shared.weight[stage]), 16, 1024);
      pin(sums);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < kTileK / 16; ++k) {
        wgmma_n128_shared(sums, x + 2 * k, weight + 2 * k, true);
      }
      wgmma_commit();
      wgmma_wait();
      pin(sums);
    }
  }
  const int row =
      static_cast<int>(threadIdx.x) / kWarp * 16 + static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (row + 8 * half < rows) {
      if constexpr (kGateUp) {
        store_gate_up(params, first + row + 8 * half, first_column, sums, half);
      } else {
        store_down(params, first + row + 8 * half, first_column, sums, half);
      }
    }
  }
}

template <bool kGateUp>
__global__ void __launch_bounds__(kThreads, 2) moe_grouped_kernel(GroupedParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    multiply_tile<kGateUp>(*reinterpret_cast<GroupedShared*>(memory), params);
  }
}

template <bool kGateUp>
void launch_grouped(CudaContext& context, const GroupedParams& params, int64_t max_tiles) {
  allow_shared(moe_grouped_kernel<kGateUp>, sizeof(GroupedShared));
  launch(context, moe_grouped_kernel<kGateUp>,
         {.grid = dim3(static_cast<unsigned>(ceil_div<int64_t>(params.rows, kTileColumns)),
                       static_cast<unsigned>(max_tiles)),
          .block = dim3(kThreads),
          .shared_bytes = sizeof(GroupedShared)},
         params);
}

}  // namespace

void launch_moe_grouped(CudaContext& context, const MoeArgs& args, const MoeBuffers& buffers) {
  const auto& experts = static_cast<const CudaExperts&>(*args.experts);
  const int64_t entries = args.T * args.K;
  const MoeSort sort = moe_sort_arrays(buffers.sort, entries, experts.E);
  launch_moe_sort(context, args, sort);
  const int64_t max_tiles = moe_max_tiles(entries, experts.E);
  launch_grouped<true>(context,
                       {.sort = sort,
                        .K = args.K,
                        .weight = static_cast<const bf16*>(experts.gate_up.data()),
                        .rows = 2 * experts.I,
                        .columns = experts.H,
                        .x = static_cast<const bf16*>(args.x),
                        .x_stride = args.x_stride,
                        .out = buffers.act},
                       max_tiles);
  launch_grouped<false>(context,
                        {.sort = sort,
                         .K = args.K,
                         .weight = static_cast<const bf16*>(experts.down.data()),
                         .rows = experts.H,
                         .columns = experts.I,
                         .x = static_cast<const bf16*>(buffers.act),
                         .x_stride = experts.I,
                         .out = buffers.down},
                        max_tiles);
}

}  // namespace deltaserve::cuda
