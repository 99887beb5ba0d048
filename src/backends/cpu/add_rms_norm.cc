// add_rms_norm: the float32 residual sum and its zero-centred RMS norm, rounded to X, while the row
// is in L1.
#include "backends/cpu/row_ops.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"
#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/add_rms_norm.cc"
#include <hwy/foreach_target.h>
#include <cmath>

#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

template <typename X>
HWY_INLINE void add_rms_norm_row(const AddRmsNormArgs& args, int64_t t) {
  float* row = args.residual + t * args.H;
  if (args.delta != nullptr) {
    const float* delta = args.delta + t * args.H;
    for_each_vector(args.H, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, delta + i)), d, row + i);
    });
  }
  const float mean = sum_of_squares(row, args.H) / static_cast<float>(args.H);
  const float scale = 1.0F / std::sqrt(mean + args.eps);
  X* out = static_cast<X*>(args.out) + t * args.H;
  for_each_vector(args.H, [&](auto d, int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::LoadU(d, row + i), hn::Set(d, scale));
    const auto weight = hn::Add(hn::Set(d, 1.0F), hn::LoadU(d, args.weight + i));
    store_x(d, hn::Mul(normal, weight), out + i);
  });
}

void add_rms_norm_rows(const AddRmsNormArgs& args, DType x_dtype, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    if (x_dtype == DType::kF32) {
      add_rms_norm_row<float>(args, t);
    } else {
      add_rms_norm_row<uint16_t>(args, t);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_add_rms_norm(CpuContext& context, const AddRmsNormArgs& args) {
  const auto rows = DS_SIMD_FUNCTION(context.isa, add_rms_norm_rows);
  // A row of 1024 takes less than a microsecond, about what waking a thread costs.
  constexpr int64_t kGrain = 4;
  parallel_for(context.threads, args.T, kGrain, [&](int64_t begin, int64_t end, int32_t) {
    rows(args, context.compute_dtype, begin, end);
  });
}

}  // namespace deltaserve
#endif
