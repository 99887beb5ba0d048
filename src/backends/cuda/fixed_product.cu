// linear and gate_up_silu in bfloat16 on sm_90a in one order of sums for every number of rows of x
// (--batch-invariant), and linear_bias with bias and activation on the sums. Every result is one
// chain of wgmma over K, from its beginning and in one accumulator: K is never cut, so that the
// choice of a tile changes no bit. W's rows are the product's rows and x's its columns, since wgmma
// needs 64 rows and a decode step has few.
//
// A form is chosen by the time that its tiles would take. One thread of a block keeps a ring of
// stages coming by tensor copies, one or two warpgroups multiply. Floor: W's bytes at 4,269 GB/s,
// or the operations at 780 TFLOP/s.
#include "backends/cuda/fixed_product.h"

#include <algorithm>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/fixed_product.cuh"
#include "backends/cuda/fixed_result.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/weight_product.h"
#include "backends/cuda/wide_product.cuh"
#include "backends/cuda/wide_product.h"

namespace deltaserve {
namespace cuda {
namespace {

template <typename Form, FixedResult kResult>
__global__ void __launch_bounds__(Form::kThreads, Form::kBlocks)
    fixed_product(const __grid_constant__ CUtensorMap weight, const __grid_constant__ CUtensorMap x,
                  FixedParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    auto& shared = *reinterpret_cast<FixedShared<Form>*>(memory);
    if (threadIdx.x == Form::kConsumers) {
      for (int i = 0; i < Form::kStages; ++i) {
        mbarrier_init(shared_address(&shared.full[i]), 1);
        mbarrier_init(shared_address(&shared.empty[i]), Form::kConsumers / kWarp);
      }
      mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x >= Form::kConsumers) {
      if (threadIdx.x == Form::kConsumers) {
        load_fixed_tiles<Form>(shared, weight, x, params);
      }
      return;
    }
    wait_for_previous();
    FixedRing<Form> ring;
    for (int index = static_cast<int>(blockIdx.x); index < params.tiles;
         index += static_cast<int>(gridDim.x)) {
      float sums[Form::kSums];
      multiply_fixed_tile<Form>(shared, params.steps, ring, sums);
      store_tile<Form, kResult>(params, index / params.token_tiles * Form::kRows,
                                index % params.token_tiles * Form::kTokens, sums);
    }
  }
}

template <typename Form, FixedResult kResult>
void launch_form(const CudaContext& context, const WeightProduct& product) {
  const int64_t token_tiles = ceil_div<int64_t>(product.M, Form::kTokens);
  const int64_t tiles = token_tiles * ceil_div<int64_t>(product.weight_rows, Form::kRows);
  const FixedParams params{.out = product.out,
                           .out_stride = product.out_stride,
                           .bias = product.bias,
                           .activation = product.activation,
                           .M = static_cast<int32_t>(product.M),
                           .columns = static_cast<int32_t>(product.columns),
                           .steps = static_cast<int32_t>(ceil_div<int64_t>(product.K, kFixedK)),
                           .token_tiles = static_cast<int32_t>(token_tiles),
                           .tiles = static_cast<int32_t>(tiles),
                           .pairs = product.columns % 2 == 0 && product.out_stride % 2 == 0 &&
                                    reinterpret_cast<uintptr_t>(product.out) % 4 == 0};
  const CUtensorMap weight = make_tensor_map(product.weight, product.weight_rows, product.K,
                                             product.K, static_cast<uint32_t>(Form::kRows));
  const CUtensorMap x = make_tensor_map(product.x, product.M, product.K, product.x_stride,
                                        static_cast<uint32_t>(Form::kTokens));
  const auto kernel = fixed_product<Form, kResult>;
  allow_shared(kernel, sizeof(FixedShared<Form>));
  prefer_shared(kernel, cudaSharedmemCarveoutMaxShared);
  const int64_t blocks = std::min<int64_t>(tiles, int64_t{context.device.num_sms} * Form::kBlocks);
  launch_early(context, kernel,
               {.grid = dim3(static_cast<unsigned>(blocks)),
                .block = dim3(Form::kThreads),
                .shared_bytes = sizeof(FixedShared<Form>)},
               weight, x, params);
}

using Tokens16 = FixedForm<16, 1, 2, 11>;
using Tokens32 = FixedForm<32, 1, 2, 9>;
using Tokens64 = FixedForm<64, 1, 2, 6>;
using Tokens128 = FixedForm<128, 2, 1, 6>;
using Tokens256 = FixedForm<256, 2, 1, 4>;

// Cycles of a multiprocessor that all tiles of a form take, for 64 of K: its products (two results
// of 64 rows a cycle), or its bytes at what the second level cache delivers.
template <typename Form>
int64_t cycles_of(const CudaContext& context, const WeightProduct& product) {
  constexpr int64_t kBytesPerCycle = 50;
  constexpr int64_t kProducts = int64_t{Form::kRows} / 64 * 2 * Form::kTokens;
  constexpr int64_t kBytes = int64_t{Form::kRows + Form::kTokens} * kFixedK * 2;
  const int64_t tiles = ceil_div<int64_t>(product.M, Form::kTokens) *
                        ceil_div<int64_t>(product.weight_rows, Form::kRows);
  return ceil_div<int64_t>(tiles, context.device.num_sms) *
         std::max(kProducts, kBytes / kBytesPerCycle);
}

// The same of wide_product.cu: tiles of 256 x 256 for two multiprocessors.
int64_t wide_cycles(const CudaContext& context, int64_t M, int64_t weight_rows) {
  const int64_t tiles =
      ceil_div<int64_t>(M, kWideCluster * kWideRows) * ceil_div<int64_t>(weight_rows, kWideColumns);
  return ceil_div<int64_t>(tiles, context.device.num_sms / kWideCluster) * 2 * kWideCluster *
         kWideRows * kWideColumns / 128;
}

int64_t least_cycles(const CudaContext& context, const WeightProduct& product) {
  return std::min({cycles_of<Tokens64>(context, product), cycles_of<Tokens128>(context, product),
                   cycles_of<Tokens256>(context, product)});
}

template <FixedResult kResult>
void launch_product(const CudaContext& context, const WeightProduct& product) {
  if constexpr (!kHasBias<kResult>) {
    if (product.M <= Tokens16::kTokens) {
      launch_form<Tokens16, kResult>(context, product);
      return;
    }
    if (product.M <= Tokens32::kTokens) {
      launch_form<Tokens32, kResult>(context, product);
      return;
    }
  }
  const int64_t small = cycles_of<Tokens64>(context, product);
  const int64_t middle = cycles_of<Tokens128>(context, product);
  const int64_t large = cycles_of<Tokens256>(context, product);
  if (large <= middle && large <= small) {
    launch_form<Tokens256, kResult>(context, product);
  } else if (middle <= small) {
    launch_form<Tokens128, kResult>(context, product);
  } else {
    launch_form<Tokens64, kResult>(context, product);
  }
}

constexpr int32_t kFixedArch = 90;

}  // namespace
}  // namespace cuda

bool serves_fixed(const CudaContext& context, int64_t K, const void* x, int64_t x_stride) {
  return context.device.arch == cuda::kFixedArch && context.compute_dtype == DType::kBF16 &&
         K % 8 == 0 && x_stride % 8 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
}

void launch_fixed_product(CudaContext& context, const MatmulArgs& args) {
  const cuda::WeightProduct product = cuda::product_of(args);
  if (serves_wide(context, args) &&
      cuda::wide_cycles(context, args.M, args.N) <= cuda::least_cycles(context, product)) {
    launch_wide_product(context, args);
  } else if (args.out_float) {
    cuda::launch_product<cuda::FixedResult::kFloat>(context, product);
  } else {
    cuda::launch_product<cuda::FixedResult::kBf16>(context, product);
  }
}

void launch_fixed_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  const cuda::WeightProduct product = cuda::product_of(args);
  if (serves_wide_gate_up(context, args) &&
      cuda::wide_cycles(context, args.M, product.weight_rows) <=
          cuda::least_cycles(context, product)) {
    launch_wide_gate_up_silu(context, args);
  } else {
    cuda::launch_product<cuda::FixedResult::kGateUp>(context, product);
  }
}

void launch_fixed_bias(CudaContext& context, const LinearBiasArgs& args) {
  cuda::WeightProduct product = cuda::product_of(matmul_args(args.linear));
  product.bias = args.bias;
  product.activation = args.activation;
  if (args.linear.out_float) {
    cuda::launch_product<cuda::FixedResult::kBiasFloat>(context, product);
  } else {
    cuda::launch_product<cuda::FixedResult::kBiasBf16>(context, product);
  }
}

}  // namespace deltaserve
