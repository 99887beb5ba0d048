// vision_attention on wgmma (sm_90a, bfloat16, heads of up to 80): flash attention without a mask.
//
// A thread block takes 128 query rows of one head and segment. Two warpgroups hold 64 of them each
// with their sums in registers and take turns in starting products: one's softmax runs beside the
// other's. A third loads tiles of 128 keys and values by tensor copies into a ring. Dimensions lie
// as 64 in rows of 128 bytes and, above 64, 16 in rows of 32, which the copies fill with zeros
// beyond the head. Tiles begin with the segment, so a row's bits depend on nothing beside it.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/device_vectors.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/vision_ops.h"
#include "backends/cuda/vision_wgmma_products.cuh"
#include "backends/cuda/vision_wgmma_ring.cuh"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int32_t kMaxDims = 80;

// The warpgroups start products in turn: the first waits at barrier 1, the second at barrier 2.
__device__ __forceinline__ void await_turn(int group) {
  if (group == 0) {
    named_barrier<kVisionComputeThreads>(1);
  } else {
    named_barrier<kVisionComputeThreads>(2);
  }
}
__device__ __forceinline__ void give_turn_to(int group) {
  if (group == 0) {
    named_barrier_arrive<kVisionComputeThreads>(1);
  } else {
    named_barrier_arrive<kVisionComputeThreads>(2);
  }
}

// Divides and stores.
template <int Dims>
__device__ __forceinline__ void finish(const VisionAttentionArgs& args, const VisionWork& work,
                                       int group, const VisionSoftmax& softmax,
                                       const VisionSums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) % kVisionGroupThreads / kWarp;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float scale = 1.0F / warp_sum<4>(softmax.total[i]);
    const int row = work.first_query + group * kVisionGroupRows + warp * 16 + lane / 4 + 8 * i;
    if (row >= work.end_query) {
      continue;
    }
    bf16* const to = static_cast<bf16*>(args.out) + int64_t{row} * args.out_stride +
                     int64_t{work.head} * args.head_dim + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < Dims / 8; ++n) {
      const float* const pair = n < 8 ? &sums.wide[4 * n + 2 * i] : &sums.tail[4 * n - 32 + 2 * i];
      if (8 * n < args.head_dim) {
        *reinterpret_cast<uint32_t*>(to + 8 * n) = pack_bf16(pair[0] * scale, pair[1] * scale);
      }
    }
  }
}

// A warpgroup's way through the tiles. Scores of a tile and the second product of the one before
// are started together; the softmax that follows needs the scores only.
template <int Dims>
__device__ void attend(VisionShared<Dims>& shared, const VisionAttentionArgs& args,
                       const VisionWork& work, int group, float scale_log2) {
  float scores[kVisionScores];
  uint32_t weights[kVisionScores / 2];
  float keep[2];
  VisionSums sums;
  VisionSoftmax softmax;
  const int last = work.tiles() - 1;
  VisionPlace place;
  if (group == 1) {
    give_turn_to(0);
  }
  mbarrier_wait(shared_address(&shared.query_landed), 0);
  mbarrier_wait(shared_address(&shared.keys_landed[0]), 0);
  await_turn(group);
  pin(scores);
  wgmma_fence();
  start_scores(shared, group, 0, scores);
  if (group == 0 || last > 0) {
    give_turn_to(1 - group);
  }
  wgmma_wait();
  pin(scores);
  free_stage(shared.keys_freed[0]);
  hide_keys(scores, work.keys_of(0));
  weigh(scores, scale_log2, softmax, keep);
  pack_weights(weights, scores);
#pragma unroll 1
  for (int j = 1; j <= last; ++j) {
    const VisionPlace before = place;
    place.next();
    mbarrier_wait(shared_address(&shared.keys_landed[place.stage]), place.parity);
    mbarrier_wait(shared_address(&shared.values_landed[before.stage]), before.parity);
    await_turn(group);
    pin(scores);
    pin(weights);
    pin_sums<Dims>(sums);
    wgmma_fence();
    start_scores(shared, group, place.stage, scores);
    start_values(shared, before.stage, weights, sums);
    if (group == 0 || j < last) {
      give_turn_to(1 - group);
    }
    wgmma_wait_for<1>();
    pin(scores);
    free_stage(shared.keys_freed[place.stage]);
    if (j == last) {
      hide_keys(scores, work.keys_of(j));
    }
    weigh(scores, scale_log2, softmax, keep);
    // Never: sums of exponentials. Without a branch the compiler waits for the second product
    // before it makes them.
    if (softmax.total[0] + softmax.total[1] < 0.0F) {
      __trap();
    }
    wgmma_wait();
    pin_sums<Dims>(sums);
    pin(weights);
    free_stage(shared.values_freed[before.stage]);
    scale_sums<Dims>(sums, keep);
    pack_weights(weights, scores);
  }
  mbarrier_wait(shared_address(&shared.values_landed[place.stage]), place.parity);
  pin(weights);
  pin_sums<Dims>(sums);
  wgmma_fence();
  start_values(shared, place.stage, weights, sums);
  wgmma_wait();
  pin_sums<Dims>(sums);
  finish<Dims>(args, work, group, softmax, sums);
}

template <int Dims>
__device__ void run_block(VisionShared<Dims>& shared, const VisionMaps& maps,
                          const VisionAttentionArgs& args, float scale_log2) {
  const int segment = static_cast<int>(blockIdx.z);
  VisionWork work;
  work.head = static_cast<int>(blockIdx.y);
  work.first_query = args.cu_queries[segment] + static_cast<int>(blockIdx.x) * kVisionBlockRows;
  work.end_query = args.cu_queries[segment + 1];
  if (work.first_query >= work.end_query) {
    return;
  }
  work.first_key = args.cu_keys[segment];
  work.keys = args.cu_keys[segment + 1] - work.first_key;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.query_landed), 1);
    mbarrier_init(shared_address(&shared.partial_landed), 1);
    for (int i = 0; i < kVisionStages; ++i) {
      mbarrier_init(shared_address(&shared.keys_landed[i]), 1);
      mbarrier_init(shared_address(&shared.values_landed[i]), 1);
      mbarrier_init(shared_address(&shared.keys_freed[i]), kVisionFreeing);
      mbarrier_init(shared_address(&shared.values_freed[i]), kVisionFreeing);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  // 168 registers a thread at launch: the loading warpgroup gives most of its own to the others.
  const int group = static_cast<int>(threadIdx.x) / kVisionGroupThreads - 1;
  if (group < 0) {
    shrink_registers<24>();
    if (threadIdx.x < kWarp) {
      load_vision_tiles(shared, maps, work);
    }
  } else {
    grow_registers<240>();
    attend(shared, args, work, group, scale_log2);
  }
}

template <int Dims>
__global__ void __launch_bounds__(kVisionThreads, 1)
    attend_pictures(const __grid_constant__ VisionMaps maps, VisionAttentionArgs args,
                    float scale_log2) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    run_block(*reinterpret_cast<VisionShared<Dims>*>(memory), maps, args, scale_log2);
  }
}

template <int Dims>
void run(const CudaContext& context, const VisionAttentionArgs& args) {
  VisionMaps maps{};
  const auto make = [&](CUtensorMap(&parts)[2], const void* data, int64_t rows, int64_t stride,
                        uint32_t box_rows) {
    const HeadRows heads{.data = data,
                         .rows = rows,
                         .num_heads = args.num_heads,
                         .head_dim = args.head_dim,
                         .stride = stride};
    parts[0] = make_heads_map(heads, kVisionWideBytes / sizeof(bf16), box_rows);
    if (kVisionTail<Dims>) {
      parts[1] = make_heads_map(heads, kVisionTailBytes / sizeof(bf16), box_rows);
    }
  };
  make(maps.query, args.q, args.num_queries, args.q_stride, kVisionGroupRows);
  make(maps.keys, args.k, args.num_keys, args.kv_stride, kVisionTileKeys);
  make(maps.values, args.v, args.num_keys, args.kv_stride, kVisionTileKeys);
  constexpr size_t kShared = sizeof(VisionShared<Dims>);
  allow_shared(attend_pictures<Dims>, kShared);
  launch(context, attend_pictures<Dims>,
         {.grid =
              dim3(static_cast<unsigned>(ceil_div(args.max_queries, kVisionBlockRows)),
                   static_cast<unsigned>(args.num_heads), static_cast<unsigned>(args.num_segments)),
          .block = dim3(kVisionThreads),
          .shared_bytes = kShared},
         maps, args, args.scale * 1.44269504F);  // log2(e): the softmax is taken in base 2
}

}  // namespace
}  // namespace cuda

bool serves_vision_wgmma(const CudaContext& context, const VisionAttentionArgs& args) {
  constexpr int32_t kArch = 90;
  return context.device.arch == kArch && context.compute_dtype == DType::kBF16 &&
         serves_vision_tiles(args) && args.head_dim <= cuda::kMaxDims &&
         args.q_stride % args.head_dim == 0 && args.kv_stride % args.head_dim == 0 &&
         args.out_stride % 2 == 0 &&
         reinterpret_cast<uintptr_t>(args.out) % sizeof(uint32_t) == 0 && args.num_queries > 0 &&
         args.num_keys > 0;
}

void launch_vision_wgmma(const CudaContext& context, const VisionAttentionArgs& args) {
  if (args.head_dim <= 64) {
    cuda::run<64>(context, args);
  } else {
    cuda::run<80>(context, args);
  }
}

}  // namespace deltaserve
