// add_layer_norm: the float32 residual sum, its mean and variance in two passes while the row is in
// L1, and one rounding to X.
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vision_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/add_layer_norm.cc"
#include <hwy/foreach_target.h>
#include <cmath>

#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// Sum of term(d, x[i]) over a row: four vectors of partial sums, then the rest one by one.
template <class Term>
HWY_INLINE float sum_of(const float* x, int64_t count, Term&& term) {
  const FullF32 d;
  const OneF32 one;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, term(d, hn::LoadU(d, x + i)));
    sum1 = hn::Add(sum1, term(d, hn::LoadU(d, x + i + lanes)));
    sum2 = hn::Add(sum2, term(d, hn::LoadU(d, x + i + 2 * lanes)));
    sum3 = hn::Add(sum3, term(d, hn::LoadU(d, x + i + 3 * lanes)));
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) {
    total += hn::GetLane(term(one, hn::LoadU(one, x + i)));
  }
  return total;
}

template <typename X>
HWY_INLINE void add_layer_norm_row(const AddLayerNormArgs& args, int64_t t) {
  float* row = args.residual + t * args.H;
  if (args.delta != nullptr) {
    const float* delta = args.delta + t * args.H;
    for_each_vector(args.H, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, row + i), hn::LoadU(d, delta + i)), d, row + i);
    });
  }
  const auto count = static_cast<float>(args.H);
  const float mean = sum_of(row, args.H, [](auto, auto x) HWY_ATTR { return x; }) / count;
  const float squares = sum_of(row, args.H, [&](auto d, auto x) HWY_ATTR {
    const auto distance = hn::Sub(x, hn::Set(d, mean));
    return hn::Mul(distance, distance);
  });
  const float scale = 1.0F / std::sqrt(squares / count + args.eps);
  X* out = static_cast<X*>(args.out) + t * args.H;
  for_each_vector(args.H, [&](auto d, int64_t i) HWY_ATTR {
    const auto normal =
        hn::Mul(hn::Sub(hn::LoadU(d, row + i), hn::Set(d, mean)), hn::Set(d, scale));
    store_x(d, hn::MulAdd(normal, hn::LoadU(d, args.weight + i), hn::LoadU(d, args.bias + i)),
            out + i);
  });
}

void add_layer_norm_rows(const AddLayerNormArgs& args, DType x_dtype, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    if (x_dtype == DType::kF32) {
      add_layer_norm_row<float>(args, t);
    } else {
      add_layer_norm_row<uint16_t>(args, t);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_add_layer_norm(CpuContext& context, const AddLayerNormArgs& args) {
  const auto rows = DS_SIMD_FUNCTION(context.isa, add_layer_norm_rows);
  constexpr int64_t kGrain = 4;  // rows: about what waking a thread costs, as for add_rms_norm
  parallel_for(context.threads, args.T, kGrain, [&](int64_t begin, int64_t end, int32_t) {
    rows(args, context.compute_dtype, begin, end);
  });
}

}  // namespace deltaserve
#endif
