// linear and gate_up_silu for at most 32 rows of x in bfloat16 on sm_90a: bound by reading W once.
//
// One thread block a multiprocessor takes an equal run of units, a unit being 128 rows of W by 64
// of K, tile after tile; the split depends on the shape of W only, and so does the order of a
// result's sum: a row has the same bits for all M. A thread keeps a ring of tiles coming by tensor
// copies, two warpgroups multiply them. Tiles that blocks share are summed by the block that has
// the beginning of K, in order. W is asked for before the kernel before this one has ended.
#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/wgmma_narrow.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kGroups = 2;  // warpgroups that multiply, 64 rows of W each
constexpr int kTileRows = kGroups * 64;
constexpr int kTileK = 64;  // 128 bytes: a swizzled row
constexpr int kConsumers = kGroups * 128;
constexpr int kThreads = kConsumers + kWarp;
constexpr int kTileBytes = kTileRows * kTileK * 2;
constexpr int kMostTokens = static_cast<int>(kMaxStreamedRows);

// Tiles of the ring: two thread blocks fit a multiprocessor, so that the next product can fill its
// ring while this one ends.
template <int kTokens>
constexpr int kStages = kTokens == 32 ? 5 : 6;
// Tiles beyond the ring that are brought to the second level cache while the kernel before this one
// runs: with the ring 5 us of reading, as long as what lies between two products.
constexpr int kPrefetched = 6;

template <int kTokens>
struct StreamShared {
  std::byte weight[kStages<kTokens>][kTileBytes];
  std::byte x[kStages<kTokens>][kTokens * kTileK * 2];
  uint64_t full[kStages<kTokens>];
  uint64_t empty[kStages<kTokens>];
};

struct StreamParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  int64_t rows;  // of out: of W, or I for gate_up
  int32_t M;
  int32_t tiles;     // of rows of W
  int32_t k_blocks;  // of a tile
  float* partials;   // [blocks][kTokens / 8][kConsumers][4]
  int32_t* flags;    // [blocks]: whether the partial sums are there; zero between launches
};

// Units [begin, end) of a thread block.
struct UnitRange {
  int begin;
  int end;
};

__device__ __forceinline__ UnitRange units_of(const StreamParams& params, int block) {
  const int64_t units = int64_t{params.tiles} * params.k_blocks;
  return {static_cast<int>(units * block / gridDim.x),
          static_cast<int>(units * (block + 1) / gridDim.x)};
}

// The ring's side of a thread block: one thread starts all copies.
template <int kTokens>
__device__ void stream_units(StreamShared<kTokens>& shared, const CUtensorMap& weight,
                             const CUtensorMap& x, const StreamParams& params) {
  constexpr int kRing = kStages<kTokens>;
  constexpr uint32_t kStageBytes = kTileBytes + kTokens * kTileK * 2;
  const UnitRange range = units_of(params, static_cast<int>(blockIdx.x));
  const int count = range.end - range.begin;
  const auto column = [&](int i) { return (range.begin + i) % params.k_blocks * kTileK; };
  const auto row = [&](int i) { return (range.begin + i) / params.k_blocks * kTileRows; };
  const auto load_weight = [&](int i, int stage) {
    const uint32_t full = shared_address(&shared.full[stage]);
    mbarrier_arrive_expect(full, kStageBytes);
    tensor_load(shared_address(shared.weight[stage]), weight, column(i), row(i), full);
  };
  const auto load_x = [&](int i, int stage) {
    tensor_load(shared_address(shared.x[stage]), x, column(i), 0,
                shared_address(&shared.full[stage]));
  };
  const int first = min(count, kRing);
  for (int i = 0; i < first; ++i) {
    load_weight(i, i);
  }
  for (int i = first; i < min(count, first + kPrefetched); ++i) {
    tensor_prefetch(weight, column(i), row(i));
  }
  wait_for_previous();
  for (int i = 0; i < first; ++i) {
    load_x(i, i);
  }
  int stage = 0;
  uint32_t parity = 0;
  for (int i = first; i < count; ++i) {
    mbarrier_wait(shared_address(&shared.empty[stage]), parity);
    load_weight(i, stage);
    load_x(i, stage);
    stage = stage + 1 == kRing ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
  let_next_start();
}

// A thread's place in the ring while it multiplies.
struct RingPlace {
  int stage = 0;
  uint32_t parity = 0;
};

// sums [64 rows][kTokens] of a warpgroup over the next `count` units.
template <int kTokens>
__device__ __forceinline__ void multiply_units(StreamShared<kTokens>& shared, int count,
                                               RingPlace& place, float (&sums)[kTokens / 2]) {
  const int group = static_cast<int>(threadIdx.x) / 128;
#pragma unroll
  for (float& sum : sums) {
    sum = 0.0F;
  }
  for (int i = 0; i < count; ++i) {
    mbarrier_wait(shared_address(&shared.full[place.stage]), place.parity);
    const uint64_t a =
        wgmma_operand(shared_address(shared.weight[place.stage]) + group * 64 * 128, 16, 1024);
    const uint64_t b = wgmma_operand(shared_address(shared.x[place.stage]), 16, 1024);
    pin(sums);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      wgmma_narrow(sums, a + 2 * k, b + 2 * k);
    }
    wgmma_commit();
    wgmma_wait();
    pin(sums);
    if (threadIdx.x % kWarp == 0) {
      mbarrier_arrive(shared_address(&shared.empty[place.stage]));
    }
    place.stage = place.stage + 1 == kStages<kTokens> ? 0 : place.stage + 1;
    place.parity ^= place.stage == 0 ? 1U : 0U;
  }
}

__device__ __forceinline__ void store_flag(int32_t* flag) {
  asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ __forceinline__ int32_t load_flag(const int32_t* flag) {
  int32_t value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

template <int kTokens>
__device__ __forceinline__ float* partial_of(const StreamParams& params, int block) {
  return params.partials + (int64_t{block} * (kTokens / 8) * kConsumers + threadIdx.x) * 4;
}

// Leaves sums for the block that has the tile's beginning.
template <int kTokens>
__device__ void give_partial(const StreamParams& params, const float (&sums)[kTokens / 2]) {
  const int block = static_cast<int>(blockIdx.x);
  float* to = partial_of<kTokens>(params, block);
#pragma unroll
  for (int p = 0; p < kTokens / 8; ++p) {
    __stcg(reinterpret_cast<float4*>(to + p * kConsumers * 4),
           make_float4(sums[4 * p], sums[4 * p + 1], sums[4 * p + 2], sums[4 * p + 3]));
  }
  __threadfence();
  named_barrier<kConsumers>(1);
  if (threadIdx.x == 0) {
    store_flag(params.flags + block);
  }
}

// Adds what the blocks after this one left of the tile that ends at unit `tile_end`, in order.
template <int kTokens>
__device__ void take_partials(const StreamParams& params, int tile_end,
                              float (&sums)[kTokens / 2]) {
  for (int block = static_cast<int>(blockIdx.x) + 1;; ++block) {
    const UnitRange range = units_of(params, block);
    if (range.begin < range.end) {
      if (threadIdx.x == 0) {
        while (load_flag(params.flags + block) == 0) {
        }
        params.flags[block] = 0;
      }
      named_barrier<kConsumers>(1);
      const float* from = partial_of<kTokens>(params, block);
#pragma unroll
      for (int p = 0; p < kTokens / 8; ++p) {
        const float4 part = __ldcg(reinterpret_cast<const float4*>(from + p * kConsumers * 4));
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

// A thread holds rows g and g + 8 of its warp's 16, and tokens 8 p + 2 t and the next.
template <bool kGateUp, int kTokens, typename Out>
__device__ __forceinline__ void store_tile(const StreamParams& params, int tile,
                                           const float (&sums)[kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first =
      int64_t{tile} * kTileRows + static_cast<int>(threadIdx.x) / kWarp * 16;  // row of W
#pragma unroll
  for (int i = 0; i < kTokens / 2; ++i) {
    const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const bool second = i % 4 >= 2;
    if constexpr (kGateUp) {
      const int64_t column = first / 2 + lane / 4;
      if (!second && column < params.rows && token < params.M) {
        static_cast<Out*>(params.out)[token * params.out_stride + column] =
            from_float<Out>(silu(sums[i]) * sums[i + 2]);
      }
    } else {
      const int64_t row = first + lane / 4 + (second ? 8 : 0);
      if (row < params.rows && token < params.M) {
        static_cast<Out*>(params.out)[token * params.out_stride + row] = from_float<Out>(sums[i]);
      }
    }
  }
}

template <bool kGateUp, int kTokens, typename Out>
__device__ void multiply_all(StreamShared<kTokens>& shared, const StreamParams& params) {
  const UnitRange range = units_of(params, static_cast<int>(blockIdx.x));
  RingPlace place;
  float sums[kTokens / 2];
  for (int unit = range.begin; unit < range.end;) {
    const int tile = unit / params.k_blocks;
    const int tile_end = (tile + 1) * params.k_blocks;
    const int end = min(range.end, tile_end);
    multiply_units<kTokens>(shared, end - unit, place, sums);
    if (unit > tile * params.k_blocks) {
      give_partial<kTokens>(params, sums);
    } else {
      if (end < tile_end) {
        take_partials<kTokens>(params, tile_end, sums);
      }
      store_tile<kGateUp, kTokens, Out>(params, tile, sums);
    }
    unit = end;
  }
}

template <bool kGateUp, int kTokens, typename Out>
__global__ void __launch_bounds__(kThreads, 2)
    streamed_product(const __grid_constant__ CUtensorMap weight,
                     const __grid_constant__ CUtensorMap x, StreamParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<StreamShared<kTokens>*>(memory);
    if (threadIdx.x == kConsumers) {
      for (int i = 0; i < kStages<kTokens>; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), kConsumers / kWarp);
      }
      mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x >= kConsumers) {
      if (threadIdx.x == kConsumers) {
        stream_units<kTokens>(shared, weight, x, params);
      }
      return;
    }
    wait_for_previous();
    multiply_all<kGateUp, kTokens, Out>(shared, params);
  }
}

// A product to be launched: of args.weight's rows as they lie, x and where results go.
struct Product {
  const void* weight;  // [weight_rows][K]
  int64_t weight_rows;
  int64_t K;
  const void* x;  // [M][x_stride]
  int64_t x_stride;
  int64_t M;
  void* out;
  int64_t out_stride;
  int64_t out_rows;
};

template <bool kGateUp, int kTokens, typename Out>
void launch_tokens(CudaContext& context, const Product& product) {
  const int blocks = context.device.num_sms;
  constexpr size_t kPartialBytes = size_t{kTileRows} * kMostTokens * sizeof(float);
  const StreamParams params{
      .out = product.out,
      .out_stride = product.out_stride,
      .rows = product.out_rows,
      .M = static_cast<int32_t>(product.M),
      .tiles = static_cast<int32_t>(ceil_div<int64_t>(product.weight_rows, kTileRows)),
      .k_blocks = static_cast<int32_t>(product.K / kTileK),
      .partials = context.scratch<float>(static_cast<size_t>(blocks) * kPartialBytes),
      .flags = context.zeros(static_cast<size_t>(blocks))};
  const CUtensorMap weight =
      make_tensor_map(product.weight, product.weight_rows, product.K, product.K, kTileRows);
  const CUtensorMap x = make_tensor_map(product.x, product.M, product.K, product.x_stride, kTokens);
  constexpr size_t kShared = sizeof(StreamShared<kTokens>);
  const auto kernel = streamed_product<kGateUp, kTokens, Out>;
  allow_shared(kernel, kShared);
  launch_early(context, kernel,
               {.grid = dim3(static_cast<unsigned>(blocks)),
                .block = dim3(kThreads),
                .shared_bytes = kShared},
               weight, x, params);
}

template <bool kGateUp, typename Out>
void launch_product(CudaContext& context, const Product& product) {
  if (product.M <= 8) {
    launch_tokens<kGateUp, 8, Out>(context, product);
  } else if (product.M <= 16) {
    launch_tokens<kGateUp, 16, Out>(context, product);
  } else {
    launch_tokens<kGateUp, 32, Out>(context, product);
  }
}

constexpr int32_t kStreamedArch = 90;
constexpr int64_t kFewestRows = 4096;  // of W: fewer are cut too finely

}  // namespace
}  // namespace cuda

bool serves_streamed(const CudaContext& context, int64_t M, int64_t N, int64_t K, const void* x,
                     int64_t x_stride) {
  return context.device.arch == cuda::kStreamedArch && context.compute_dtype == DType::kBF16 &&
         M <= kMaxStreamedRows && N >= cuda::kFewestRows && K % cuda::kTileK == 0 &&
         x_stride % 8 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
}

void launch_streamed_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const cuda::Product product{.weight = weight.values.data(),
                              .weight_rows = weight.N,
                              .K = weight.K,
                              .x = args.x,
                              .x_stride = args.x_stride,
                              .M = args.M,
                              .out = args.out,
                              .out_stride = args.out_stride,
                              .out_rows = weight.N};
  if (args.out_float) {
    cuda::launch_product<false, float>(context, product);
  } else {
    cuda::launch_product<false, cuda::bf16>(context, product);
  }
}

void launch_streamed_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t rows = cuda::ceil_div<int64_t>(weight.I, kGateUpGroup) * 2 * kGateUpGroup;
  cuda::launch_product<true, cuda::bf16>(context, {.weight = weight.values.data(),
                                                   .weight_rows = rows,
                                                   .K = weight.K,
                                                   .x = args.x,
                                                   .x_stride = args.x_stride,
                                                   .M = args.M,
                                                   .out = args.out,
                                                   .out_stride = args.out_stride,
                                                   .out_rows = weight.I});
}

}  // namespace deltaserve
