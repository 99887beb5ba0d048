// gate_up_silu of many rows of x in bfloat16 on sm_90a: the whole product on wgmma with silu(gate)
// * up on the sums, so that nothing but the result is written.
//
// Two thread blocks form a cluster that makes 256 rows of x by 256 rows of W: each has 128 rows of
// x and loads half of W's tile for both. One warp of a third warpgroup keeps a ring of stages
// coming, over the ends of tiles too; two warpgroups multiply 64 x 256 each. Clusters take tiles in
// turn, in panels of 2,048 rows of x, so that what runs at a time shares what it reads.
#include "backends/cuda/cluster.cuh"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/mma_bf16.cuh"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/wgmma_wide.cuh"
#include "backends/cuda/wide_product.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int kCluster = 2;
constexpr int kGroups = 2;           // warpgroups that multiply
constexpr int kRows = kGroups * 64;  // of x, of a thread block
constexpr int kColumns = 256;        // rows of W
constexpr int kTileK = 64;           // 128 bytes: a swizzled row
constexpr int kStages = 4;           // 192 KiB
constexpr int kPanel = 8;            // cluster tiles of 256 rows of x
constexpr int kThreads = (kGroups + 1) * 128;
constexpr int kSums = kColumns / 2;  // of a thread: 64 x 256 over 128 threads
constexpr int kHalfBytes = kColumns / kCluster * kTileK * 2;  // of W's tile, that a block loads

struct WideShared {
  std::byte x[kStages][kRows * kTileK * 2];
  std::byte weight[kStages][kColumns * kTileK * 2];
  uint64_t full[kStages];
  uint64_t empty[kStages];
};

struct WideParams {
  void* out;  // [M, out_stride]
  int64_t out_stride;
  int32_t M;
  int32_t columns;  // of out
  int32_t steps;    // of K
  int32_t tall;     // cluster tiles over x's rows
  int32_t tiles;    // cluster tiles in all
  int32_t wide;     // over W's rows
};

// Where cluster tile `index` begins: row of x for this thread block, and row of W.
struct TilePlace {
  int row;
  int column;
};

__device__ __forceinline__ TilePlace place_of(const WideParams& params, int index) {
  const int panel = index / (kPanel * params.wide);
  const int height = min(kPanel, params.tall - panel * kPanel);
  const int inside = index - panel * kPanel * params.wide;
  const int tile_row = panel * kPanel + inside % height;
  return {(tile_row * kCluster + cluster_rank()) * kRows, inside / height * kColumns};
}

// A place in the ring of stages.
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    stage = stage + 1 == kStages ? 0 : stage + 1;
    parity ^= stage == 0 ? 1U : 0U;
  }
};

// One thread starts all copies of a thread block.
__device__ void load_tiles_of(WideShared& shared, const CUtensorMap& x, const CUtensorMap& weight,
                              const WideParams& params) {
  constexpr uint32_t kStageBytes = sizeof(shared.x[0]) + sizeof(shared.weight[0]);
  constexpr uint16_t kBoth = (1U << kCluster) - 1;
  const int rank = cluster_rank();
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x) / kCluster; index < params.tiles;
       index += clusters) {
    const TilePlace place = place_of(params, index);
    for (int step = 0; step < params.steps; ++step) {
      const uint32_t full = shared_address(&shared.full[ring.stage]);
      mbarrier_wait(shared_address(&shared.empty[ring.stage]), ring.parity ^ 1);
      mbarrier_arrive_expect(full, kStageBytes);
      tensor_load(shared_address(shared.x[ring.stage]), x, step * kTileK, place.row, full);
      tensor_load_multicast(shared_address(shared.weight[ring.stage]) + rank * kHalfBytes, weight,
                            step * kTileK, place.column + rank * (kColumns / kCluster), full,
                            kBoth);
      ring.advance();
    }
  }
}

// Says in both thread blocks that this warp has read a stage.
__device__ __forceinline__ void release(WideShared& shared, int stage) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane < kCluster) {
    mbarrier_arrive_at(shared_address(&shared.empty[stage]), lane);
  }
}

// sums [64 x 256] of a warpgroup of one tile.
__device__ __forceinline__ void multiply_tile(WideShared& shared, int group, int steps, Ring& ring,
                                              float (&sums)[kSums]) {
  int before = 0;  // the stage whose products may still run
  for (int step = 0; step < steps; ++step) {
    mbarrier_wait(shared_address(&shared.full[ring.stage]), ring.parity);
    const uint64_t a =
        wgmma_operand(shared_address(shared.x[ring.stage]) + group * 64 * 128, 16, 1024);
    const uint64_t b = wgmma_operand(shared_address(shared.weight[ring.stage]), 16, 1024);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      wgmma_n256_shared(sums, a + 2 * k, b + 2 * k, step != 0 || k != 0);
    }
    wgmma_commit();
    wgmma_wait_for<1>();
    if (step != 0) {
      release(shared, before);
    }
    before = ring.stage;
    ring.advance();
  }
  wgmma_wait();
  release(shared, before);
}

// silu(gate) * up without the last bits that the rounding to bfloat16 drops.
__device__ __forceinline__ float gated(float gate, float up) {
  constexpr float kLog2E = 1.44269504F;
  return gate * __frcp_rn(1.0F + exp2_fast(-kLog2E * gate)) * up;
}

// Transposes 4 words over the 4 lanes of a quad: lane t gets word t of each.
__device__ __forceinline__ void transpose_quad(uint32_t (&words)[4]) {
  const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = (lane & bit) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if ((i & bit) == 0) {
        const uint32_t got = __shfl_xor_sync(kAllLanes, upper ? words[i] : words[i + bit], bit);
        words[i] = upper ? got : words[i];
        words[i + bit] = upper ? words[i + bit] : got;
      }
    }
  }
}

// What is made of the sums: as they are, in float32 or bfloat16, or silu(gate) * up of blocks of 8
// columns that are gate and up in turn, in bfloat16.
enum class WideResult { kFloat, kBf16, kGateUp };

// One word of out: columns 2 t and 2 t + 1 of block `block` of 8, row g or, if half, g + 8.
template <WideResult kResult>
__device__ __forceinline__ uint32_t result_word(const float (&sums)[kSums], int block, int half) {
  if constexpr (kResult == WideResult::kGateUp) {
    const float* gate = &sums[8 * block + 2 * half];
    return pack_bf16(gated(gate[0], gate[4]), gated(gate[1], gate[5]));
  } else {
    return pack_bf16(sums[4 * block + 2 * half], sums[4 * block + 2 * half + 1]);
  }
}

// A thread holds rows g and g + 8 of its warp's 16.
template <WideResult kResult>
__device__ __forceinline__ void store_tile(const WideParams& params, const TilePlace& place,
                                           int group, const float (&sums)[kSums]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
  constexpr int kOutColumns = kResult == WideResult::kGateUp ? kColumns / 2 : kColumns;
  const int first = kResult == WideResult::kGateUp ? place.column / 2 : place.column;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = place.row + group * 64 + warp * 16 + half * 8 + lane / 4;
    if constexpr (kResult == WideResult::kFloat) {
      float* out = static_cast<float*>(params.out) + row * params.out_stride;
#pragma unroll
      for (int block = 0; block < kOutColumns / 8; ++block) {
        const int column = first + block * 8 + lane % 4 * 2;
        if (row < params.M && column < params.columns) {
          *reinterpret_cast<float2*>(out + column) =
              make_float2(sums[4 * block + 2 * half], sums[4 * block + 2 * half + 1]);
        }
      }
    } else {
      bf16* out = static_cast<bf16*>(params.out) + row * params.out_stride;
#pragma unroll
      for (int quad = 0; quad < kOutColumns / 32; ++quad) {
        uint32_t words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          words[i] = result_word<kResult>(sums, 4 * quad + i, half);
        }
        transpose_quad(words);
        const int column = first + quad * 32 + lane % 4 * 8;
        if (row < params.M && column < params.columns) {
          *reinterpret_cast<uint4*>(out + column) =
              make_uint4(words[0], words[1], words[2], words[3]);
        }
      }
    }
  }
}

template <WideResult kResult>
__device__ void multiply_tiles(WideShared& shared, const WideParams& params, int group) {
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x) / kCluster; index < params.tiles;
       index += clusters) {
    float sums[kSums];
    multiply_tile(shared, group, params.steps, ring, sums);
    store_tile<kResult>(params, place_of(params, index), group, sums);
  }
}

template <WideResult kResult>
__global__ void __launch_bounds__(kThreads, 1)
    wide_product(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap weight,
                 WideParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<WideShared*>(memory);
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), kCluster * kGroups * 4);
      }
      mbarrier_init_fence();
    }
    cluster_sync();
    const int group = static_cast<int>(threadIdx.x) / 128;
    if (group == kGroups) {
      shrink_registers<40>();
      if (threadIdx.x == kGroups * 128) {
        load_tiles_of(shared, x, weight, params);
      }
      __syncwarp();
    } else {
      grow_registers<232>();
      multiply_tiles<kResult>(shared, params, group);
    }
    cluster_sync();  // the other block's copies and arrivals come to this one's memory
  }
}

// A product to be launched: W's rows as they lie, and where results go.
struct Product {
  const void* weight;  // [weight_rows][K]
  int64_t weight_rows;
  int64_t K;
  const void* x;  // [M][x_stride]
  int64_t x_stride;
  int64_t M;
  void* out;
  int64_t out_stride;
  int64_t columns;
};

template <WideResult kResult>
void launch_product(const CudaContext& context, const Product& product) {
  const auto tall = static_cast<int32_t>(ceil_div<int64_t>(product.M, kCluster * kRows));
  const auto wide = static_cast<int32_t>(ceil_div<int64_t>(product.weight_rows, kColumns));
  const WideParams params{.out = product.out,
                          .out_stride = product.out_stride,
                          .M = static_cast<int32_t>(product.M),
                          .columns = static_cast<int32_t>(product.columns),
                          .steps = static_cast<int32_t>(product.K / kTileK),
                          .tall = tall,
                          .tiles = tall * wide,
                          .wide = wide};
  const CUtensorMap x = make_tensor_map(product.x, product.M, product.K, product.x_stride, kRows);
  const CUtensorMap weight = make_tensor_map(product.weight, product.weight_rows, product.K,
                                             product.K, kColumns / kCluster);
  allow_shared(wide_product<kResult>, sizeof(WideShared));
  const int blocks = context.device.num_sms / kCluster * kCluster;
  launch_cluster(context, wide_product<kResult>, kCluster,
                 {.grid = dim3(static_cast<unsigned>(blocks)),
                  .block = dim3(kThreads),
                  .shared_bytes = sizeof(WideShared)},
                 x, weight, params);
}

constexpr int32_t kWideArch = 90;
// Fewer rows leave too much of the last round of tiles idle.
constexpr int64_t kFewestRows = 1024;

// Whether 16-byte pieces of x and out lie on borders of 16 bytes.
bool serves(const CudaContext& context, int64_t M, int64_t K, int64_t columns, const void* x,
            int64_t x_stride, const void* out, int64_t out_stride) {
  const auto addresses = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(out);
  return context.device.arch == kWideArch && context.compute_dtype == DType::kBF16 &&
         M >= kFewestRows && columns % 8 == 0 && K % kTileK == 0 && x_stride % 8 == 0 &&
         out_stride % 8 == 0 && addresses % 16 == 0;
}

}  // namespace
}  // namespace cuda

bool serves_wide_linear(const CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  return cuda::serves(context, args.M, weight.K, weight.N, args.x, args.x_stride, args.out,
                      args.out_stride);
}

void launch_wide_linear(CudaContext& context, const LinearArgs& args) {
  const auto& weight = static_cast<const CudaLinear&>(*args.weight);
  const cuda::Product product{.weight = weight.values.data(),
                              .weight_rows = weight.N,
                              .K = weight.K,
                              .x = args.x,
                              .x_stride = args.x_stride,
                              .M = args.M,
                              .out = args.out,
                              .out_stride = args.out_stride,
                              .columns = weight.N};
  if (args.out_float) {
    cuda::launch_product<cuda::WideResult::kFloat>(context, product);
  } else {
    cuda::launch_product<cuda::WideResult::kBf16>(context, product);
  }
}

bool serves_wide_gate_up(const CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  return cuda::serves(context, args.M, weight.K, weight.I, args.x, args.x_stride, args.out,
                      args.out_stride);
}

void launch_wide_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  cuda::launch_product<cuda::WideResult::kGateUp>(context, {.weight = weight.values.data(),
                                                            .weight_rows = 2 * weight.I,
                                                            .K = weight.K,
                                                            .x = args.x,
                                                            .x_stride = args.x_stride,
                                                            .M = args.M,
                                                            .out = args.out,
                                                            .out_stride = args.out_stride,
                                                            .columns = weight.I});
}

}  // namespace deltaserve
