// dense_segment for at most 32 rows in bfloat16 on sm_90a (dense_segment.cuh): what stands between
// two mixers, in one launch that reads all its weights without a pause.
#include <cstdlib>

#include "backends/cuda/cuda_ops.h"
#include "backends/cuda/cuda_weights.h"
#include "backends/cuda/dense_segment.cuh"
#include "backends/cuda/launch.h"
#include "backends/cuda/scratch_plan.h"
#include "backends/cuda/tensor_map.h"

namespace deltaserve {
namespace cuda {
namespace {

constexpr int32_t kSegmentArch = 90;
constexpr int kBoxes = 1;

struct Matrices {
  const CudaLinear& out;
  const CudaGateUp& gate_up;
  const CudaLinear& down;
  const CudaLinear& in;
};

SegmentProduct product_of(int64_t rows, int64_t K) {
  return {.tiles = static_cast<int32_t>(ceil_div<int64_t>(rows, kStreamRows)),
          .k_blocks = static_cast<int32_t>(K / (kBoxes * kStreamK))};
}

struct Rows {
  const void* data;
  int64_t stride;
  int64_t K;
};

// Every thread block needs units of every product: see wait_for_phase and leave.
bool divides(const CudaContext& context, const SegmentProduct& product, const Rows& x) {
  return product.tiles * product.k_blocks >= context.device.num_sms &&
         x.K % (kBoxes * kStreamK) == 0 && x.stride % 8 == 0 &&
         reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
}

template <typename Form>
void launch_form(const CudaContext& context, const SegmentMaps& maps, const SegmentParams& params) {
  const auto kernel = dense_segment<Form>;
  constexpr size_t kShared = sizeof(SegmentShared<Form>);
  static_assert(kShared <= kSegmentShared);
  allow_shared(kernel, kShared);
  launch_early(context, kernel,
               {.grid = dim3(static_cast<unsigned>(context.device.num_sms)),
                .block = dim3(kSegmentThreads),
                .shared_bytes = kShared},
               maps, params);
}

constexpr int tokens_of(int64_t T) {
  return T <= 8 ? 8 : T <= 16 ? 16 : 32;
}

}  // namespace
}  // namespace cuda

int64_t segment_scratch_bytes(const CudaContext& context, int64_t H) {
  return streamed_scratch_bytes(context) +
         2 * (H / cuda::kStreamRows + 1) * kMaxStreamedRows * int64_t{sizeof(float)};
}

bool launch_dense_segment(CudaContext& context, const DenseSegmentArgs& args) {
  using namespace cuda;
  if (std::getenv("DELTASERVE_SEGMENT") == nullptr) {
    return false;  // until it has run on a card
  }
  if (context.device.arch != kSegmentArch || context.compute_dtype != DType::kBF16 ||
      context.batch_invariant || args.T > kMaxStreamedRows || args.H % kStreamRows != 0) {
    return false;
  }
  const Matrices matrices{.out = static_cast<const CudaLinear&>(*args.out),
                          .gate_up = static_cast<const CudaGateUp&>(*args.gate_up),
                          .down = static_cast<const CudaLinear&>(*args.down),
                          .in = static_cast<const CudaLinear&>(*args.in)};
  const int64_t gate_up_rows = ceil_div(matrices.gate_up.I, kGateUpGroup) * 2 * kGateUpGroup;
  const SegmentProduct products[kSegmentPhases] = {
      product_of(args.H, matrices.out.K), product_of(gate_up_rows, args.H),
      product_of(args.H, matrices.down.K), product_of(matrices.in.N, args.H)};
  const Rows rows[kSegmentPhases] = {{args.x, args.x_stride, matrices.out.K},
                                     {args.normed, args.H, args.H},
                                     {args.inner, args.inner_stride, matrices.down.K},
                                     {args.normed, args.H, args.H}};
  const struct {
    const void* data;
    int64_t rows;
  } weights[kSegmentPhases] = {{matrices.out.values.data(), args.H},
                               {matrices.gate_up.values.data(), gate_up_rows},
                               {matrices.down.values.data(), args.H},
                               {matrices.in.values.data(), matrices.in.N}};
  const int kTokens = tokens_of(args.T);
  for (int p = 0; p < kSegmentPhases; ++p) {
    if (!divides(context, products[p], rows[p])) {
      return false;
    }
  }
  SegmentMaps maps;
  for (int p = 0; p < kSegmentPhases; ++p) {
    maps.weight[p] =
        make_tensor_map(weights[p].data, weights[p].rows, rows[p].K, rows[p].K, kStreamRows);
    maps.x[p] = make_tensor_map(rows[p].data, args.T, rows[p].K, rows[p].stride,
                                static_cast<uint32_t>(kTokens));
  }
  const auto blocks = static_cast<size_t>(context.device.num_sms);
  auto* scratch =
      context.scratch<float>(static_cast<size_t>(segment_scratch_bytes(context, args.H)));
  float* squares = scratch + streamed_scratch_bytes(context) / int64_t{sizeof(float)};
  int32_t* flags = context.zeros(blocks + kSegmentPhases + 1);
  SegmentParams params{.products = {products[0], products[1], products[2], products[3]},
                       .M = static_cast<int32_t>(args.T),
                       .H = static_cast<int32_t>(args.H),
                       .eps = args.eps,
                       .residual = args.residual,
                       .weights = {args.norm, args.next_norm},
                       .x = static_cast<bf16*>(args.normed),
                       .squares = {squares, squares + args.H / kStreamRows * kMaxStreamedRows},
                       .inner = static_cast<bf16*>(args.inner),
                       .inner_stride = args.inner_stride,
                       .I = static_cast<int32_t>(matrices.gate_up.I),
                       .projected = static_cast<bf16*>(args.projected),
                       .projected_stride = args.projected_stride,
                       .N = static_cast<int32_t>(matrices.in.N),
                       .partials = scratch,
                       .flags = flags,
                       .arrived = flags + blocks};
  if (kTokens == 8) {
    launch_form<SegmentForm<8, kBoxes>>(context, maps, params);
  } else if (kTokens == 16) {
    launch_form<SegmentForm<16, kBoxes>>(context, maps, params);
  } else {
    launch_form<SegmentForm<32, kBoxes>>(context, maps, params);
  }
  return true;
}

}  // namespace deltaserve
