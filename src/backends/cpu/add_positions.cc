// add_positions: four weighted rows of the position table on each row of the residual stream.
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vision_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/add_positions.cc"
#include <hwy/foreach_target.h>

#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

void add_positions_rows(const AddPositionsArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kTaps = 4;
  for (int64_t t = begin; t < end; ++t) {
    float* row = args.residual + t * args.H;
    for_each_vector(args.H, [&](auto d, int64_t i) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (int64_t k = 0; k < kTaps; ++k) {
        const float* entry = args.table + args.taps[k * args.T + t] * args.H;
        sum = hn::MulAdd(hn::Set(d, args.weights[k * args.T + t]), hn::LoadU(d, entry + i), sum);
      }
      hn::StoreU(hn::Add(hn::LoadU(d, row + i), sum), d, row + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_add_positions(CpuContext& context, const AddPositionsArgs& args) {
  const auto rows = DS_SIMD_FUNCTION(context.isa, add_positions_rows);
  constexpr int64_t kGrain = 4;  // rows: about what waking a thread costs
  parallel_for(context.threads, args.T, kGrain,
               [&](int64_t begin, int64_t end, int32_t) { rows(args, begin, end); });
}

}  // namespace deltaserve
#endif
