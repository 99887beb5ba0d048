// gated_rms_norm: RMS norm of each value head times its weight and silu(z), one rounding.
#include "backends/cpu/row_ops.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/gated_rms_norm.cc"
#include <hwy/foreach_target.h>
#include <cmath>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// row: head_dim floats of scratch.
template <typename X>
HWY_INLINE void gated_rms_norm_head(const GatedRmsNormArgs& args, int64_t t, int64_t h,
                                    float* row) {
  const int64_t head = h * args.head_dim;
  const X* x = static_cast<const X*>(args.x) + t * args.x_stride + head;
  const X* z = static_cast<const X*>(args.z) + t * args.z_stride + head;
  X* out = static_cast<X*>(args.out) + t * args.out_stride + head;
  for_each_vector(args.head_dim,
                  [&](auto d, int64_t i) HWY_ATTR { hn::StoreU(load_x(d, x + i), d, row + i); });
  const float mean = sum_of_squares(row, args.head_dim) / static_cast<float>(args.head_dim);
  const float scale = 1.0F / std::sqrt(mean + args.eps);
  for_each_vector(args.head_dim, [&](auto d, int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::LoadU(d, row + i), hn::Set(d, scale));
    const auto weighted = hn::Mul(hn::LoadU(d, args.weight + i), normal);
    store_x(d, hn::Mul(weighted, silu(d, load_x(d, z + i))), out + i);
  });
}

// Heads [begin, end) of the T * num_heads of the call.
void gated_rms_norm_heads(const GatedRmsNormArgs& args, DType x_dtype, int64_t begin, int64_t end,
                          float* row) {
  for (int64_t i = begin; i < end; ++i) {
    if (x_dtype == DType::kF32) {
      gated_rms_norm_head<float>(args, i / args.num_heads, i % args.num_heads, row);
    } else {
      gated_rms_norm_head<uint16_t>(args, i / args.num_heads, i % args.num_heads, row);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_gated_rms_norm(CpuContext& context, const GatedRmsNormArgs& args) {
  context.require_thread_scratch(static_cast<size_t>(args.head_dim) * sizeof(float));
  const auto heads = DS_SIMD_FUNCTION(context.isa, gated_rms_norm_heads);
  constexpr int64_t kGrain = 32;  // heads: about a microsecond, what waking a thread costs
  parallel_for(context.threads, args.T * args.num_heads, kGrain,
               [&](int64_t begin, int64_t end, int32_t thread) {
                 heads(args, context.compute_dtype, begin, end,
                       context.thread_scratch<float>(thread));
               });
}

}  // namespace deltaserve
#endif
