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
#include "backends/cuda/scratch_plan.h"
#include "backends/cuda/streamed_product.cuh"
#include "backends/cuda/tensor_map.h"

namespace deltaserve {
namespace cuda {
namespace {

// A thread holds rows g and g + 8 of its warp's 16, and tokens 8 p + 2 t and the next.
template <bool kGateUp, int kTokens, typename Out>
__device__ __forceinline__ void store_tile(const StreamParams& params, int tile,
                                           const float (&sums)[kTokens / 2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first =
      int64_t{tile} * kStreamRows + static_cast<int>(threadIdx.x) / kWarp * 16;  // row of W
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
__global__ void __launch_bounds__(kStreamThreads, 2)
    streamed_product(const __grid_constant__ CUtensorMap weight,
                     const __grid_constant__ CUtensorMap x, StreamParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<StreamShared<kTokens>*>(memory);
    if (threadIdx.x == kStreamConsumers) {
      for (int i = 0; i < kStreamStages<kTokens>; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), kStreamConsumers / kWarp);
      }
      mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x >= kStreamConsumers) {
      if (threadIdx.x == kStreamConsumers) {
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
  const StreamParams params{
      .out = product.out,
      .out_stride = product.out_stride,
      .rows = product.out_rows,
      .M = static_cast<int32_t>(product.M),
      .tiles = static_cast<int32_t>(ceil_div<int64_t>(product.weight_rows, kStreamRows)),
      .k_blocks = static_cast<int32_t>(product.K / kStreamK),
      .partials = context.scratch<float>(static_cast<size_t>(streamed_scratch_bytes(context))),
      .flags = context.zeros(static_cast<size_t>(blocks))};
  const CUtensorMap weight =
      make_tensor_map(product.weight, product.weight_rows, product.K, product.K, kStreamRows);
  const CUtensorMap x = make_tensor_map(product.x, product.M, product.K, product.x_stride, kTokens);
  constexpr size_t kShared = sizeof(StreamShared<kTokens>);
  const auto kernel = streamed_product<kGateUp, kTokens, Out>;
  allow_shared(kernel, kShared);
  // Room for the next product's block beside this one's.
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared));
  launch_early(context, kernel,
               {.grid = dim3(static_cast<unsigned>(blocks)),
                .block = dim3(kStreamThreads),
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
// Up to so many rows of x the kernels of skinny.cu read W faster.
constexpr int64_t kMostSkinny = 8;

}  // namespace
}  // namespace cuda

bool serves_streamed(const CudaContext& context, int64_t M, int64_t N, int64_t K, const void* x,
                     int64_t x_stride) {
  return context.device.arch == cuda::kStreamedArch && context.compute_dtype == DType::kBF16 &&
         M > cuda::kMostSkinny && M <= kMaxStreamedRows && N >= cuda::kFewestRows &&
         K % cuda::kStreamK == 0 && x_stride % 8 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
}

int64_t streamed_scratch_bytes(const CudaContext& context) {
  return int64_t{context.device.num_sms} * cuda::kStreamRows * cuda::kMostStreamTokens *
         int64_t{sizeof(float)};
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
