// vision_rope: rotation of every query and key head by the patch's row and column, float32 inside.
// The cosines and sines of a patch are computed once for all its heads.
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/vision_ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/vision_rope.cc"
#include <hwy/foreach_target.h>
#include <cmath>

#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// cosine, sine: [head_dim / 2].
template <typename X>
HWY_INLINE void rotate_heads(const VisionRopeArgs& args, const float* cosine, const float* sine,
                             X* row) {
  const int64_t half = args.head_dim / 2;
  for (X* x = row; x < row + int64_t{args.num_heads} * args.head_dim; x += args.head_dim) {
    for_each_vector(half, [&](auto d, int64_t i) HWY_ATTR {
      const auto a = load_x(d, x + i);
      const auto b = load_x(d, x + half + i);
      const auto c = hn::LoadU(d, cosine + i);
      const auto s = hn::LoadU(d, sine + i);
      store_x(d, hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), x + i);
      store_x(d, hn::Add(hn::Mul(b, c), hn::Mul(a, s)), x + half + i);
    });
  }
}

// memory: [head_dim] floats of scratch.
void vision_rope_rows(const VisionRopeArgs& args, DType x_dtype, int64_t begin, int64_t end,
                      float* memory) {
  const int64_t quarter = args.head_dim / 4;
  float* cosine = memory;
  float* sine = memory + 2 * quarter;
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t j = 0; j < 2 * quarter; ++j) {
      const int32_t position = j < quarter ? args.rows[t] : args.columns[t];
      const float angle = static_cast<float>(position) * args.inv_freq[j % quarter];
      cosine[j] = std::cos(angle);
      sine[j] = std::sin(angle);
    }
    for (void* data : {args.q, args.k}) {
      if (x_dtype == DType::kF32) {
        rotate_heads(args, cosine, sine, static_cast<float*>(data) + t * args.stride);
      } else {
        rotate_heads(args, cosine, sine, static_cast<uint16_t*>(data) + t * args.stride);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_vision_rope(CpuContext& context, const VisionRopeArgs& args) {
  context.require_thread_scratch(static_cast<size_t>(args.head_dim) * sizeof(float));
  const auto rows = DS_SIMD_FUNCTION(context.isa, vision_rope_rows);
  parallel_for(context.threads, args.T, 1, [&](int64_t begin, int64_t end, int32_t thread) {
    rows(args, context.compute_dtype, begin, end, context.thread_scratch<float>(thread));
  });
}

}  // namespace deltaserve
#endif
