// linear and gate_up_silu for 2 to 32 rows of x in bfloat16 on sm_90a: bound by reading W once.
//
// One thread block a multiprocessor takes bands of W's rows (streamed_bands.h), with all of K or,
// where W has few rows, a part of it, which a cluster of blocks adds up through shared memory: no
// sum goes through memory, and a block that has ended makes room for the next product's ring.
// A thread keeps tiles of W coming by tensor copies, two warpgroups multiply them, and a warp
// fetches what results need besides. W is asked for before the kernel before this one has ended. A
// result's sum has one order for all M.
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/fixed_product.h"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/streamed_copies.cuh"
#include "backends/cuda/streamed_exchange.cuh"
#include "backends/cuda/streamed_norm.cuh"
#include "backends/cuda/streamed_results.cuh"
#include "backends/cuda/streamed_ring.cuh"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/weight_product.h"
#include "base/check.h"

namespace deltaserve {
namespace cuda {
namespace {

template <ProductResult kResult, int kTokens, int kTiles, typename Out>
__global__ void __launch_bounds__(kStreamThreads, 1)
    streamed_product(const __grid_constant__ CUtensorMap weight,
                     const __grid_constant__ CUtensorMap x, const StreamParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    if (threadIdx.x == kStreamConsumers) {
      // They come from memory that is busy with W.
      fetch_tensor_map(weight);
      fetch_tensor_map(x);
    }
    const StreamRing<kTokens, kStreamPieces<kTiles>> ring(memory, params);
    auto& area = *reinterpret_cast<StreamNormArea*>(memory + params.norm_area);
    StreamCopies<kTokens, kStreamPieces<kTiles>> copies(ring, weight, x, params);
    if (threadIdx.x == kStreamConsumers) {
      copies.begin(shared_address(&area.received));
    }
    __syncthreads();
    if (threadIdx.x < kStreamConsumers) {
      if constexpr (kResult == ProductResult::kNorm) {
        multiply_norm_band<kTokens>(ring, params, area);
      } else {
        multiply_bands<kResult, kTokens, kTiles, Out>(ring, params, area);
      }
      return;
    }
    let_next_start();
    if (params.bands.blocks > 1) {
      cluster_arrive_relaxed();
    }
    if (threadIdx.x == kStreamConsumers) {
      wait_for_previous();
      copies.run();
    } else if (threadIdx.x >= kStreamConsumers + kWarp) {
      wait_for_previous();
      if constexpr (kResult == ProductResult::kNorm) {
        StreamNorm<kTokens>(params, StreamShare(params), 0, ring.end).fetch_residual();
      } else {
        find_scales<kTokens>(params, area);
      }
    }
    __syncwarp();
    if (params.bands.blocks > 1) {
      cluster_wait();
    }
  }
}

struct StreamedProduct {
  WeightProduct product;
  NormScale scale = {};  // of x
  NormRows norm = {};    // of kNorm
};

// Clusters of 1, 2 and 4 thread blocks that the device holds at a time, a block a multiprocessor:
// multiprocessors come in groups over which no cluster reaches. The devices of a process are alike.
const std::array<int32_t, 3>& clusters_held(const CudaContext& context) {
  static const std::array<int32_t, 3> kHeld = [&] {
    const auto kernel = streamed_product<ProductResult::kPlain, kMostStreamTokens, 1, float>;
    const auto shared = static_cast<size_t>(context.device.shared_bytes);
    allow_shared(kernel, shared);
    std::array<int32_t, 3> held{};
    for (size_t i = 0; i < held.size(); ++i) {
      const unsigned size = 1U << i;
      const ClusterConfig config(
          context, size,
          {.grid = dim3(size), .block = dim3(kStreamThreads), .shared_bytes = shared}, false);
      int count = 0;
      check_cuda(cudaOccupancyMaxActiveClusters(&count, kernel, config.get()));
      held[i] = count;
    }
    return held;
  }();
  return kHeld;
}

template <ProductResult kResult, int kTokens, int kTiles, typename Out>
void launch_tiles(CudaContext& context, const StreamedProduct& args, const Bands& bands) {
  const WeightProduct& product = args.product;
  constexpr int kPieces = kStreamPieces<kTiles>;
  const int64_t stage_bytes = StreamRing<kTokens, kPieces>::stage_bytes(bands.rows);
  const int64_t results_bytes = kResult == ProductResult::kNorm
                                    ? StreamNorm<kTokens>::kEnd
                                    : StreamResults<kTokens, kTiles>::bytes(bands.blocks);
  const auto norm_area = context.device.shared_bytes - static_cast<int64_t>(sizeof(StreamNormArea));
  const int64_t stages = (norm_area - results_bytes) / stage_bytes;
  const auto boxes = static_cast<int32_t>(ceil_div<int64_t>(bands.rows, kMostBoxRows));
  const StreamParams params{
      .out = product.out,
      .out_stride = product.out_stride,
      .rows = product.columns,
      .M = static_cast<int32_t>(product.M),
      .bands = bands,
      .k_blocks = static_cast<int32_t>(ceil_div<int64_t>(product.K, kPieces * kStreamPiece)),
      .stages = static_cast<int32_t>(stages),
      .box_rows = bands.rows / boxes,
      .norm_area = static_cast<int32_t>(norm_area),
      .scale = args.scale,
      .norm = args.norm};
  const CUtensorMap weight = make_tensor_map(product.weight, product.weight_rows, product.K,
                                             product.K, static_cast<uint32_t>(params.box_rows));
  const CUtensorMap x = make_tensor_map(product.x, product.M, product.K, product.x_stride, kTokens);
  const auto kernel = streamed_product<kResult, kTokens, kTiles, Out>;
  // All of it: a multiprocessor has one block of a product, and no other kernel's beside it, with
  // which it would keep the large part for shared memory that the others do not want.
  const auto shared = static_cast<size_t>(context.device.shared_bytes);
  allow_shared(kernel, shared);
  const int32_t held = clusters_held(context)[bands.blocks / 2];
  DS_CHECK(bands.blocks == 1 || bands.count <= held);  // one band a cluster: add_up
  const auto cluster = static_cast<unsigned>(bands.blocks);
  launch_cluster_early(context, kernel, cluster,
                       {.grid = dim3(static_cast<unsigned>(std::min(held, bands.count)) * cluster),
                        .block = dim3(kStreamThreads),
                        .shared_bytes = shared},
                       weight, x, params);
}

template <ProductResult kResult, int kTokens, typename Out>
void launch_tokens(CudaContext& context, const StreamedProduct& args) {
  const Bands bands = plan_bands(args.product.weight_rows, clusters_held(context));
  const int64_t tiles = ceil_div<int64_t>(bands.rows, 2 * kStreamTileRows);
  if (tiles == 1) {
    launch_tiles<kResult, kTokens, 1, Out>(context, args, bands);
  } else if (tiles == 2) {
    launch_tiles<kResult, kTokens, 2, Out>(context, args, bands);
  } else {
    launch_tiles<kResult, kTokens, 3, Out>(context, args, bands);
  }
}

template <ProductResult kResult, typename Out>
void launch_product(CudaContext& context, const StreamedProduct& args) {
  if (args.product.M <= 16) {
    launch_tokens<kResult, 16, Out>(context, args);
  } else {
    launch_tokens<kResult, kMostStreamTokens, Out>(context, args);
  }
}

// linear_norm: bands whose sums two blocks share out by tokens, one tile a warpgroup.
template <int kTokens>
void launch_norm_tokens(CudaContext& context, const StreamedProduct& args, const Bands& bands) {
  launch_tiles<ProductResult::kNorm, kTokens, 1, float>(context, args, bands);
}
bool serves_norm(const Bands& bands, int64_t M, int64_t H) {
  return bands.blocks == 2 && bands.rows <= 2 * kStreamTileRows && bands.count % 4 == 0 &&
         H % kBandStep == 0 && M * bands.count <= kNormSquares;
}

constexpr int64_t kFewestRows = 4096;  // of W
// Some stages for every block of a cluster.
constexpr int64_t kFewestColumns = 512;
// Up to so many rows of x the kernels of skinny.cu read W faster, unless both its sides are long:
// the 27B's gain 4 to 6 %, the 9B's of 4,096 lose 2 to 3.
constexpr int64_t kMostSkinny = 8;
constexpr int64_t kFewestOfLong = 5120;
constexpr int64_t most_skinny(int64_t N, int64_t K) {
  return std::min(N, K) < kFewestOfLong ? kMostSkinny : 1;
}

}  // namespace
}  // namespace cuda

bool serves_streamed(const CudaContext& context, int64_t M, int64_t N, int64_t K, const void* x,
                     int64_t x_stride) {
  return context.device.arch == cuda::kStreamedArch && context.compute_dtype == DType::kBF16 &&
         M > cuda::most_skinny(N, K) && M <= kMaxStreamedRows && N >= cuda::kFewestRows &&
         K >= cuda::kFewestColumns && K % cuda::kStreamPiece == 0 && x_stride % 8 == 0 &&
         reinterpret_cast<uintptr_t>(x) % 16 == 0;
}

void launch_streamed_linear(CudaContext& context, const LinearArgs& args) {
  const cuda::StreamedProduct product{.product = cuda::product_of(matmul_args(args)),
                                      .scale = args.x_scale};
  if (args.out_float) {
    cuda::launch_product<cuda::ProductResult::kPlain, float>(context, product);
  } else {
    cuda::launch_product<cuda::ProductResult::kPlain, cuda::bf16>(context, product);
  }
}

void launch_streamed_gate_up_silu(CudaContext& context, const GateUpSiluArgs& args) {
  cuda::launch_product<cuda::ProductResult::kGateUp, cuda::bf16>(
      context, {.product = cuda::product_of(args), .scale = args.x_scale});
}

std::optional<NormScale> launch_streamed_norm(CudaContext& context, const LinearNormArgs& args) {
  const cuda::StreamedProduct product{.product = cuda::product_of(matmul_args(args.linear)),
                                      .norm = cuda::norm_rows(args)};
  const int64_t M = args.linear.M;
  const int64_t H = product.product.weight_rows;
  if (!serves_streamed(context, M, H, product.product.K, args.linear.x, args.linear.x_stride) ||
      !serves_streamed(context, M, args.next_rows, H, args.out, H)) {
    return std::nullopt;
  }
  const cuda::Bands bands = cuda::plan_bands(H, cuda::clusters_held(context));
  if (!cuda::serves_norm(bands, M, H)) {
    return std::nullopt;
  }
  if (M <= 16) {
    cuda::launch_norm_tokens<16>(context, product, bands);
  } else {
    cuda::launch_norm_tokens<cuda::kMostStreamTokens>(context, product, bands);
  }
  return NormScale{.squares = args.squares,
                   .parts = bands.count,
                   .width = static_cast<int32_t>(H),
                   .eps = args.eps};
}

}  // namespace deltaserve
