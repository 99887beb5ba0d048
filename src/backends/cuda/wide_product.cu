// gate_up_silu of many rows of x in bfloat16 on sm_90a: the whole product on wgmma with silu(gate)
// * up on the sums, so that nothing but the result is written.
//
// Two thread blocks form a cluster that makes 256 rows of x by 256 rows of W: each has 128 rows of
// x and loads half of W's tile for both. One warp of a third warpgroup keeps a ring of stages
// coming, over the ends of tiles too; two warpgroups multiply 64 x 256 each. Clusters take tiles in
// turn, in panels of 2,048 rows of x, so that what runs at a time shares what it reads.
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/weight_product.h"
#include "backends/cuda/wide_product.cuh"
#include "backends/cuda/wide_product.h"

namespace deltaserve {
namespace cuda {
namespace {

// What is made of the sums: as they are, in float32 or bfloat16, or silu(gate) * up of blocks of 8
// columns that are gate and up in turn, in bfloat16.
enum class WideResult { kFloat, kBf16, kGateUp };

// One word of out: columns 2 t and 2 t + 1 of block `block` of 8, row g or, if half, g + 8.
template <WideResult kResult>
__device__ __forceinline__ uint32_t result_word(const float (&sums)[kWideSums], int block,
                                                int half) {
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
                                           int group, const float (&sums)[kWideSums]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp % 4;
  constexpr int kOutColumns = kResult == WideResult::kGateUp ? kWideColumns / 2 : kWideColumns;
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
  const int clusters = static_cast<int>(gridDim.x) / kWideCluster;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x) / kWideCluster; index < params.tiles;
       index += clusters) {
    float sums[kWideSums];
    multiply_wide_tile(shared, group, params.steps, ring, sums);
    store_tile<kResult>(params, place_of(params, index), group, sums);
  }
}

template <WideResult kResult>
__global__ void __launch_bounds__(kWideThreads, 1)
    wide_product(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap weight,
                 WideParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<WideShared*>(memory);
    if (threadIdx.x == 0) {
      for (int i = 0; i < kWideStages; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), kWideCluster * kWideGroups * 4);
      }
      mbarrier_init_fence();
    }
    cluster_sync();
    const int group = static_cast<int>(threadIdx.x) / 128;
    if (group == kWideGroups) {
      shrink_registers<40>();
      if (threadIdx.x == kWideGroups * 128) {
        load_wide_tiles(shared, x, weight, params);
      }
      __syncwarp();
    } else {
      grow_registers<232>();
      multiply_tiles<kResult>(shared, params, group);
    }
    cluster_sync();  // the other block's copies and arrivals come to this one's memory
  }
}

template <WideResult kResult>
void launch_product(const CudaContext& context, const WeightProduct& product) {
  const auto tall = static_cast<int32_t>(ceil_div<int64_t>(product.M, kWideCluster * kWideRows));
  const auto wide = static_cast<int32_t>(ceil_div<int64_t>(product.weight_rows, kWideColumns));
  const WideParams params{.out = product.out,
                          .out_stride = product.out_stride,
                          .M = static_cast<int32_t>(product.M),
                          .columns = static_cast<int32_t>(product.columns),
                          .steps = static_cast<int32_t>(product.K / kWideK),
                          .tall = tall,
                          .tiles = tall * wide,
                          .wide = wide};
  const CUtensorMap x =
      make_tensor_map(product.x, product.M, product.K, product.x_stride, kWideRows);
  const CUtensorMap weight = make_tensor_map(product.weight, product.weight_rows, product.K,
                                             product.K, kWideColumns / kWideCluster);
  allow_shared(wide_product<kResult>, sizeof(WideShared));
  const int blocks = context.device.num_sms / kWideCluster * kWideCluster;
  launch_cluster(context, wide_product<kResult>, kWideCluster,
                 {.grid = dim3(static_cast<unsigned>(blocks)),
                  .block = dim3(kWideThreads),
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
         M >= kFewestRows && columns % 8 == 0 && K % kWideK == 0 && x_stride % 8 == 0 &&
         out_stride % 8 == 0 && addresses % 16 == 0;
}

}  // namespace
}  // namespace cuda

bool serves_wide(const CudaContext& context, const MatmulArgs& args) {
  return cuda::serves(context, args.M, args.K, args.N, args.x, args.x_stride, args.out,
                      args.out_stride);
}

void launch_wide_product(const CudaContext& context, const MatmulArgs& args) {
  const cuda::WeightProduct product = cuda::product_of(args);
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
  cuda::launch_product<cuda::WideResult::kGateUp>(context, cuda::product_of(args));
}

}  // namespace deltaserve
