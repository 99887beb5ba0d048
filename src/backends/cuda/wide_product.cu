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
  bf16* out;  // [M, out_stride]
  int64_t out_stride;
  int32_t M;
  int32_t I;      // columns of out
  int32_t steps;  // of K
  int32_t tall;   // cluster tiles over x's rows
  int32_t tiles;  // cluster tiles in all
  int32_t wide;   // over W's rows
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

// A thread holds rows g and g + 8 of its warp's 16; blocks of 8 columns are gate and up in turn.
__device__ __forceinline__ void store_tile(const WideParams& params, const TilePlace& place,
                                           int group, const float (&sums)[kSums]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = place.row + group * 64 + warp * 16 + half * 8 + lane / 4;
#pragma unroll
    for (int quad = 0; quad < kColumns / 64; ++quad) {  // 32 columns of out
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* gate = &sums[8 * (4 * quad + i) + 2 * half];
        const float* up = gate + 4;
        words[i] = pack_bf16(gated(gate[0], up[0]), gated(gate[1], up[1]));
      }
      transpose_quad(words);
      const int column = place.column / 2 + quad * 32 + lane % 4 * 8;
      if (row < params.M && column < params.I) {
        *reinterpret_cast<uint4*>(params.out + row * params.out_stride + column) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
}

__device__ void multiply_tiles(WideShared& shared, const WideParams& params, int group) {
  const int clusters = static_cast<int>(gridDim.x) / kCluster;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x) / kCluster; index < params.tiles;
       index += clusters) {
    float sums[kSums];
    multiply_tile(shared, group, params.steps, ring, sums);
    store_tile(params, place_of(params, index), group, sums);
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    wide_gate_up_kernel(const __grid_constant__ CUtensorMap x,
                        const __grid_constant__ CUtensorMap weight, WideParams params) {
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
      multiply_tiles(shared, params, group);
    }
    cluster_sync();  // the other block's copies and arrivals come to this one's memory
  }
}

constexpr int32_t kWideArch = 90;
// Fewer rows leave too much of the last round of tiles idle.
constexpr int64_t kFewestRows = 1024;

}  // namespace
}  // namespace cuda

bool serves_wide_gate_up(const CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const auto addresses =
      reinterpret_cast<uintptr_t>(args.x) | reinterpret_cast<uintptr_t>(args.out);
  return context.device.arch == cuda::kWideArch && context.compute_dtype == DType::kBF16 &&
         args.M >= cuda::kFewestRows && weight.I % kGateUpGroup == 0 &&
         weight.K % cuda::kTileK == 0 && args.x_stride % 8 == 0 && args.out_stride % 8 == 0 &&
         addresses % 16 == 0;
}

void launch_wide_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const auto& weight = static_cast<const CudaGateUp&>(*args.weight);
  const int64_t rows = 2 * weight.I;
  const auto tall =
      static_cast<int32_t>(cuda::ceil_div<int64_t>(args.M, cuda::kCluster * cuda::kRows));
  const auto wide = static_cast<int32_t>(cuda::ceil_div<int64_t>(rows, cuda::kColumns));
  const cuda::WideParams params{.out = static_cast<cuda::bf16*>(args.out),
                                .out_stride = args.out_stride,
                                .M = static_cast<int32_t>(args.M),
                                .I = static_cast<int32_t>(weight.I),
                                .steps = static_cast<int32_t>(weight.K / cuda::kTileK),
                                .tall = tall,
                                .tiles = tall * wide,
                                .wide = wide};
  const CUtensorMap x = make_tensor_map(args.x, args.M, weight.K, args.x_stride, cuda::kRows);
  const CUtensorMap w = make_tensor_map(weight.values.data(), rows, weight.K, weight.K,
                                        cuda::kColumns / cuda::kCluster);
  cuda::allow_shared(cuda::wide_gate_up_kernel, sizeof(cuda::WideShared));
  const int blocks = context.device.num_sms / cuda::kCluster * cuda::kCluster;
  cuda::launch_cluster(context, cuda::wide_gate_up_kernel, cuda::kCluster,
                       {.grid = dim3(static_cast<unsigned>(blocks)),
                        .block = dim3(cuda::kThreads),
                        .shared_bytes = sizeof(cuda::WideShared)},
                       x, w, params);
}

}  // namespace deltaserve
