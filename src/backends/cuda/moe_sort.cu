// Entries (token, choice) in order of expert, and the row tiles of the grouped products: two
// launches, no atomics, so that the order is always the same, by token within an expert. A thread
// block an expert reads all ids (they lie in the second-level cache) and keeps its own.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/moe_kernels.h"

namespace deltaserve::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

__device__ int block_sum_of(int value, int* partial) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  value = __reduce_add_sync(kAllLanes, value);
  if (threadIdx.x % kWarp == 0) {
    partial[warp] = value;
  }
  __syncthreads();
  int sum = 0;
  for (int w = 0; w < kWarps; ++w) {
    sum += partial[w];
  }
  __syncthreads();
  return sum;
}

// An expert's entries are cut into tiles of about the same size.
__device__ __forceinline__ int tiles_of(int count) {
  return (count + static_cast<int>(kMoeTileRows) - 1) / static_cast<int>(kMoeTileRows);
}

// counts[e].
__global__ void __launch_bounds__(kThreads)
    count_kernel(const int32_t* expert_ids, int entries, MoeSort sort) {
  __shared__ int partial[kWarps];
  let_next_start();
  wait_for_previous();
  const int expert = static_cast<int>(blockIdx.x);
  int count = 0;
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kThreads) {
    count += expert_ids[i] == expert ? 1 : 0;
  }
  count = block_sum_of(count, partial);
  if (threadIdx.x == 0) {
    sort.counts[expert] = count;
  }
}

__global__ void __launch_bounds__(kThreads)
    scatter_kernel(const int32_t* expert_ids, int entries, int num_experts, MoeSort sort) {
  __shared__ int partial[kWarps];
  let_next_start();
  wait_for_previous();
  const int expert = static_cast<int>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;

  // Where this expert's entries and tiles begin.
  int rows_before = 0;
  int tiles_before = 0;
  for (int e = static_cast<int>(threadIdx.x); e < expert; e += kThreads) {
    rows_before += sort.counts[e];
    tiles_before += tiles_of(sort.counts[e]);
  }
  rows_before = block_sum_of(rows_before, partial);
  tiles_before = block_sum_of(tiles_before, partial);
  const int count = sort.counts[expert];
  const int tiles = tiles_of(count);
  const int tile_rows = (count + max(tiles, 1) - 1) / max(tiles, 1);
  for (int i = static_cast<int>(threadIdx.x); i < tiles; i += kThreads) {
    sort.tile_expert[tiles_before + i] = expert;
    sort.tile_first[tiles_before + i] = rows_before + i * tile_rows;
    sort.tile_rows[tiles_before + i] = min(tile_rows, count - i * tile_rows);
  }
  if (expert == num_experts - 1 && threadIdx.x == 0) {
    *sort.num_tiles = tiles_before + tiles;
  }

  // A run of entries a warp: count, then write in order.
  const int run = (entries + kThreads - 1) / kThreads * kWarp;
  const int first = min(entries, warp * run);
  const int end = min(entries, first + run);
  int mine = 0;
#pragma unroll 8
  for (int i = first + lane; i < end; i += kWarp) {
    mine += expert_ids[i] == expert ? 1 : 0;
  }
  mine = __reduce_add_sync(kAllLanes, mine);
  if (lane == 0) {
    partial[warp] = mine;
  }
  __syncthreads();
  int place = rows_before;
  for (int w = 0; w < warp; ++w) {
    place += partial[w];
  }
  constexpr int kBatch = 8;  // loads of a lane under way
  for (int batch = first; batch < end; batch += kBatch * kWarp) {
    int ids[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const int i = batch + j * kWarp + lane;
      ids[j] = i < end ? expert_ids[i] : -1;
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const bool hit = ids[j] == expert;
      const unsigned hits = __ballot_sync(kAllLanes, hit);
      if (hit) {
        sort.sorted[place + __popc(hits & ((1U << lane) - 1U))] = batch + j * kWarp + lane;
      }
      place += __popc(hits);
    }
  }
}

int64_t max_tiles(int64_t entries, int64_t E) {
  return entries / kMoeTileRows + E;
}

}  // namespace

int64_t moe_sort_size(int64_t entries, int64_t E) {
  return E + entries + 1 + 3 * max_tiles(entries, E);
}

MoeSort moe_sort_arrays(int32_t* memory, int64_t entries, int64_t E) {
  const int64_t tiles = max_tiles(entries, E);
  int32_t* const sorted = memory + E;
  int32_t* const tile_arrays = sorted + entries + 1;
  return {.counts = memory,
          .sorted = sorted,
          .num_tiles = sorted + entries,
          .tile_expert = tile_arrays,
          .tile_first = tile_arrays + tiles,
          .tile_rows = tile_arrays + 2 * tiles};
}

void launch_moe_sort(CudaContext& context, const MoeArgs& args, const MoeSort& sort) {
  const auto entries = static_cast<int>(args.T * args.K);
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>(args.experts->E)),
                          .block = dim3(kThreads)};
  launch_early(context, count_kernel, shape, args.expert_ids, entries, sort);
  launch_early(context, scatter_kernel, shape, args.expert_ids, entries, args.experts->E, sort);
}

}  // namespace deltaserve::cuda
