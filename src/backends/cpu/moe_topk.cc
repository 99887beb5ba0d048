// moe_topk: softmax over the experts in float32, the K largest, renormalised. A row of 512 experts
// is a few microseconds beside the milliseconds of the experts, so the selection stays scalar.
#include "backends/cpu/row_ops.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"
#include "base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/moe_topk.cc"
#include <hwy/foreach_target.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// p[e] = softmax(logits)[e] before the division by the sum, which is returned.
HWY_INLINE float exponentials(const float* logits, int64_t count, float* p) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t e = 0; e < count; ++e) {
    largest = logits[e] > largest ? logits[e] : largest;
  }
  for_each_vector(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(exp(d, hn::Sub(hn::LoadU(d, logits + i), hn::Set(d, largest))), d, p + i);
  });
  float sum = 0.0F;
  for (int64_t e = 0; e < count; ++e) {
    sum += p[e];
  }
  return sum;
}

// The K largest of p as ascending ids; equal values, and NaN, go to the lower id first.
HWY_INLINE void select_largest(const float* p, int64_t E, int64_t K, bool* chosen, int32_t* ids) {
  for (int64_t e = 0; e < E; ++e) {
    chosen[e] = false;
  }
  for (int64_t n = 0; n < K; ++n) {
    int64_t best = -1;
    for (int64_t e = 0; e < E; ++e) {
      if (!chosen[e] && (best < 0 || p[e] > p[best])) {
        best = e;
      }
    }
    chosen[best] = true;
  }
  for (int64_t e = 0; e < E; ++e) {
    if (chosen[e]) {
      *ids++ = static_cast<int32_t>(e);
    }
  }
}

void moe_topk_rows(const MoeTopkArgs& args, int64_t begin, int64_t end, float* p) {
  bool* chosen = reinterpret_cast<bool*>(p + args.E);
  for (int64_t t = begin; t < end; ++t) {
    const float total = exponentials(args.logits + t * args.logits_stride, args.E, p);
    if (std::isnan(total)) {  // no softmax: none of it is a number
      std::fill_n(p, args.E, total);
    }
    int32_t* ids = args.expert_ids + t * args.K;
    float* weights = args.weights + t * args.K;
    select_largest(p, args.E, args.K, chosen, ids);
    float sum = args.renormalize ? 0.0F : total;
    for (int64_t j = 0; args.renormalize && j < args.K; ++j) {
      sum += p[ids[j]];
    }
    for (int64_t j = 0; j < args.K; ++j) {
      weights[j] = p[ids[j]] / sum;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_moe_topk(CpuContext& context, const MoeTopkArgs& args) {
  DS_CHECK(args.K <= args.E);
  context.require_thread_scratch(static_cast<size_t>(args.E) * (sizeof(float) + sizeof(bool)));
  const auto rows = DS_SIMD_FUNCTION(context.isa, moe_topk_rows);
  parallel_for(context.threads, args.T, 1, [&](int64_t begin, int64_t end, int32_t thread) {
    rows(args, begin, end, context.thread_scratch<float>(thread));
  });
}

}  // namespace deltaserve
#endif
