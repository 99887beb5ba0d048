// rope_attention: a decode step of few sequences from the projection of q, gate, k and v to the
// gated values in one launch, bfloat16, heads of 256. What counts here is latency: the cache of a
// thousand tokens is read in a microsecond.
//
// A cluster of thread blocks takes a row and kv head, a block every kCluster-th of its splits. Each
// block norms and rotates the query heads of the kv head for itself; the one whose split holds the
// new token also writes that token's k and v, to the cache and into its own copy of the KV block.
// Splits meet in shared memory: a block gets a slice of the dimensions of all splits, merges them
// in order, divides, and applies the gate. Splits, their arithmetic and their order are those of
// attention_decode.cu, and so are the bits. KV blocks are asked for before the kernel before this
// one has ended.
#include "backends/cuda/attention_kernels.h"
#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/device_math.cuh"
#include "backends/cuda/rope_attention_heads.cuh"
#include "backends/cuda/rope_attention_inputs.cuh"
#include "backends/cuda/rope_attention_layout.cuh"

namespace deltaserve {
namespace cuda {
namespace {

// KV blocks of a row up to which clusters of 16 and of 8 are the faster form: beyond, more
// multiprocessors are.
constexpr int32_t kMostBlocks = 512;
constexpr int32_t kMostBlocksOfEight = 256;

// Half `part` of the dimensions of a KV block's V.
__device__ __forceinline__ uint32_t values_of(const std::byte* block, int part) {
  static_assert(kPartDims16 % 4 == 0);
  return shared_address(block) + kHalfBytes + part * (kPartDims16 / 4 * kTileBytes);
}

// Takes the KV blocks `first` and, if the split has it, `first` + kDecodeWarps into the sum of a
// pair of warps, as two calls of add_block do, with the same bits. Each warp scores one of them.
template <int kCluster>
__device__ __forceinline__ void add_two(RopeShared<kCluster>& shared, KvCopies<kCluster>& copies,
                                        const RowSplits& row, int first, int end, int step,
                                        float scale_log2, const NewToken& token,
                                        const uint32_t (&query)[1][kHeadDim / 16][2],
                                        WarpSum<1, kPartDims16>& sum) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int pair = warp % kDecodeWarps;
  const int part = warp / kDecodeWarps;
  const int mine = first + part * kDecodeWarps;
  auto& exchanged = shared.scores[step % 2];
  if (mine < end) {
    copies.wait();
    if (mine == row.num_blocks - 1) {
      insert_token(shared.blocks[warp], row.position % kBlockSize, token);
    }
    float scores[1][4];
    score_block<1>(shared_address(shared.blocks[warp]), query, scores);
    exchanged[warp][lane] = make_float4(scores[0][0], scores[0][1], scores[0][2], scores[0][3]);
  }
  named_barrier<2 * kWarp>(1 + pair);
  uint32_t weights[2][1][2];
  float keep[2][1][2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int block = first + i * kDecodeWarps;
    // None of a block that is not there: nothing changes.
    const int valid = block < end ? min(kBlockSize, row.position + 1 - block * kBlockSize) : 0;
    const float4 four = exchanged[pair + i * kDecodeWarps][lane];
    float scores[1][4] = {{four.x, four.y, four.z, four.w}};
    weigh_block(scores, valid, scale_log2, sum, weights[i], keep[i]);
  }
  rescale(keep[0], sum);
  add_values(values_of(shared.blocks[pair], part), weights[0], sum);
  rescale(keep[1], sum);
  if (first + kDecodeWarps < end) {
    add_values(values_of(shared.blocks[pair + kDecodeWarps], part), weights[1], sum);
  }
}

// Sends a split's result to the blocks of the cluster, to each its slice.
template <int kCluster>
__device__ __forceinline__ void send_split(RopeShared<kCluster>& shared, int split,
                                           const SoftmaxSum<kThreadValues>& sum) {
  const uint32_t received = shared_address(&shared.received);
#pragma unroll
  for (int i = 0; i < kThreadValues; ++i) {
    const unsigned element = threadIdx.x + i * kRopeThreads;
    const int rank = static_cast<int>(element / kSlice<kCluster>);
    const uint32_t to = shared_address(&shared.slices[split][element % kSlice<kCluster>]);
    store_counted(shared_address_at(to, rank), sum.values[i], shared_address_at(received, rank));
  }
  const unsigned rank = threadIdx.x / kColumns;
  if (rank < kCluster) {
    const uint32_t to = shared_address(&shared.states[split][threadIdx.x % kColumns]);
    store_counted(shared_address_at(to, static_cast<int>(rank)),
                  make_float2(sum.largest, sum.total),
                  shared_address_at(received, static_cast<int>(rank)));
  }
}

// Merges this block's slice of all splits, divides, applies the gate and stores: a thread a head
// and dimension.
template <int kCluster>
__device__ __forceinline__ void finish_slice(const RopeShared<kCluster>& shared, int splits,
                                             int group, float gate, bf16* out) {
  constexpr int kSliceDims = kSlice<kCluster> / kColumns;
  const int head = static_cast<int>(threadIdx.x) / kSliceDims;
  const int dim = static_cast<int>(threadIdx.x) % kSliceDims;
  if (head >= group) {
    return;
  }
  const auto part_of = [&](int split) {
    const float2 state = shared.states[split][head];
    return SoftmaxSum<1>{state.x, state.y, {shared.slices[split][dim * kColumns + head]}};
  };
  SoftmaxSum<1> sum = part_of(0);
#pragma unroll 4
  for (int split = 1; split < splits; ++split) {
    sum.merge(part_of(split));
  }
  *out = from_float<bf16>(sum.values[0] / sum.total * gate);
}

// The sums of this block's splits, sent as they are made.
template <int kCluster>
__device__ __forceinline__ void attend_splits(RopeShared<kCluster>& shared,
                                              KvCopies<kCluster>& copies, const RowSplits& row,
                                              float scale_log2, const NewToken& token) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int pair = warp % kDecodeWarps;
  const int to_mine = warp - pair;
  uint32_t query[1][kHeadDim / 16][2];
  take_query<kCluster>(shared, query);
  int step = 0;
  for (int split = cluster_rank(); split < row.splits; split += kCluster) {
    WarpSum<1, kPartDims16> sum;
    sum.reset();
    const int end = row.end_of(split);
    for (int first = split * row.size + pair; first < end; first += kRopeWarps) {
      add_two(shared, copies, row, first, end, step++, scale_log2, token, query, sum);
      const bool ends = first + kRopeWarps >= end;
      const int next_split = split + (ends ? kCluster : 0);
      const int next = ends ? next_split * row.size + pair : first + kRopeWarps;
      if (next_split < row.splits && next < row.end_of(next_split)) {
        named_barrier<2 * kWarp>(1 + pair);  // both have read these blocks
        if (next + to_mine < row.end_of(next_split)) {
          copies.start(next + to_mine);
        }
      }
    }
    SoftmaxSum<kThreadValues> sums[1];
    merge_warps<1>(shared, sum, sums);
    send_split<kCluster>(shared, split, sums[0]);
  }
}

template <int kCluster>
__device__ void attend_row(RopeShared<kCluster>& shared, const RopeAttentionParams& params) {
  const int kv_head = static_cast<int>(blockIdx.y);
  const int t = static_cast<int>(blockIdx.z);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int rank = cluster_rank();
  const RowInputs inputs(params, t, kv_head, kSlice<kCluster> / kColumns);
  const uint32_t received = shared_address(&shared.received);
  if (threadIdx.x == 0) {
    mbarrier_init(received, 1);
  }
  KvCopies<kCluster> copies(shared, params, t, kv_head);
  cluster_arrive_relaxed();
  const RowSplits row(inputs.context);
  const int mine = rank * row.size + warp;
  if (rank < row.splits && mine < row.end_of(rank)) {
    copies.start(mine, rank * kMinSplitBlocks + warp, inputs.first_block);
  }
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect(received, row.splits * (kSlice<kCluster> * 4 + kColumns * 8));
  }
  const float angle =
      static_cast<float>(__shfl_sync(kAllLanes, inputs.position, inputs.axis)) * inputs.frequency;
  if (const int j = static_cast<int>(threadIdx.x); j < params.rotary_half) {
    set_rotation(shared.rotation, j, angle, params.attention_factor);
  }
  const int last_split = row.splits - 1;
  const bool owner = last_split % kCluster == rank &&
                     (row.num_blocks - 1 - last_split * row.size) % kRopeWarps == warp;
  cluster_wait();  // the others' barriers are there
  __syncthreads();
  wait_for_previous();
  const bf16 raw_gate = *inputs.gate;
  const NewToken token = make_heads<kCluster>(shared, params, inputs, kv_head, owner);
  const float gate = sigmoid(to_float(raw_gate));
  attend_splits<kCluster>(shared, copies, row, params.scale_log2, token);
  mbarrier_wait_cluster(received, 0);
  finish_slice<kCluster>(shared, row.splits, params.group, gate, inputs.out);
}

template <int kCluster>
__global__ void __launch_bounds__(kRopeThreads) rope_attention_kernel(RopeAttentionParams params) {
  extern __shared__ __align__(1024) std::byte memory[];
  if constexpr (kHopperCode) {
    attend_row<kCluster>(*reinterpret_cast<RopeShared<kCluster>*>(memory), params);
  }
}

template <int kCluster>
LaunchShape shape_of(int32_t num_kv_heads, int32_t rows) {
  return {.grid = dim3(kCluster, static_cast<unsigned>(num_kv_heads), static_cast<unsigned>(rows)),
          .block = dim3(kRopeThreads),
          .shared_bytes = sizeof(RopeShared<kCluster>)};
}

// Clusters that the device holds at a time; the kernel may be launched from then on.
template <int kCluster>
int resident_clusters(const CudaContext& context) {
  const auto kernel = rope_attention_kernel<kCluster>;
  allow_shared(kernel, sizeof(RopeShared<kCluster>));
  if constexpr (kCluster > 8) {  // what every device can
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  const ClusterConfig config(context, kCluster, shape_of<kCluster>(1, 1), true);
  int clusters = 0;
  check_cuda(cudaOccupancyMaxActiveClusters(&clusters, kernel, config.get()));
  return clusters;
}

// Launches it if all clusters are resident at once; else they would take turns.
template <int kCluster>
bool launch_clusters(CudaContext& context, const RopeAttentionParams& params, int32_t rows) {
  static const int resident = resident_clusters<kCluster>(context);
  if (rows * params.num_kv_heads > resident) {
    return false;
  }
  launch_cluster_early(context, rope_attention_kernel<kCluster>, kCluster,
                       shape_of<kCluster>(params.num_kv_heads, rows), params);
  return true;
}

}  // namespace
}  // namespace cuda

bool launch_rope_attention(CudaContext& context, const QkNormRopeArgs& rotation,
                           const WriteKvArgs& writing, const AttentionArgs& args) {
  using namespace cuda;
  const BatchView& batch = *args.batch;
  if (!serves_tensor_attention(context, args.num_heads, args.num_kv_heads, args.head_dim) ||
      args.num_heads / args.num_kv_heads > kColumns || rotation.rotary_dim % (2 * kDims) != 0 ||
      !batch.is_decode() || batch.max_blocks_per_seq > kMostBlocks) {
    return false;
  }
  const auto stride = [](int64_t elements) { return static_cast<int32_t>(elements); };
  const RopeAttentionParams params{.kv_cache = static_cast<bf16*>(writing.kv_cache),
                                   .context_lens = batch.context_lens,
                                   .block_tables = batch.block_tables,
                                   .max_blocks = batch.max_blocks_per_seq,
                                   .num_kv_heads = args.num_kv_heads,
                                   .group = args.num_heads / args.num_kv_heads,
                                   .rotary_half = rotation.rotary_dim / 2,
                                   .mrope_axis = rotation.mrope_axis,
                                   .inv_freq = rotation.inv_freq,
                                   .positions = batch.positions,
                                   .slot_mapping = batch.slot_mapping,
                                   .q_weight = rotation.q_weight,
                                   .k_weight = rotation.k_weight,
                                   .q = static_cast<const bf16*>(args.q),
                                   .gate = static_cast<const bf16*>(args.gate),
                                   .k = static_cast<const bf16*>(rotation.k),
                                   .v = static_cast<const bf16*>(writing.v),
                                   .out = static_cast<bf16*>(args.out),
                                   .q_stride = stride(args.q_stride),
                                   .q_head_stride = stride(args.q_head_stride),
                                   .k_stride = stride(rotation.k_stride),
                                   .v_stride = stride(writing.kv_stride),
                                   .out_stride = stride(args.out_stride),
                                   .attention_factor = rotation.attention_factor,
                                   .eps = rotation.eps,
                                   .scale_log2 = args.scale * kLog2E,
                                   // A product of several rows needs the first-level cache, which
                                   // is small where it starts beside this kernel.
                                   .lets_next = batch.num_tokens == 1};
  const int32_t rows = batch.num_tokens;
  if (launch_clusters<16>(context, params, rows)) {
    return true;
  }
  return batch.max_blocks_per_seq <= kMostBlocksOfEight &&
         launch_clusters<8>(context, params, rows);
}

}  // namespace deltaserve
