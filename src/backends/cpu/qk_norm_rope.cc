// qk_norm_rope: RMS norm of every query and key head and partial M-RoPE, float32 inside. The
// cosines and sines of a token are computed once for all its heads.
#include "backends/cpu/row_ops.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/qk_norm_rope.cc"
#include <hwy/foreach_target.h>
#include <cmath>

#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

struct RopeScratch {
  float* row = nullptr;     // [head_dim]
  float* cosine = nullptr;  // [rotary_dim / 2]
  float* sine = nullptr;    // [rotary_dim / 2]
};

template <typename X>
HWY_INLINE void norm_rope_head(const QkNormRopeArgs& args, const RopeScratch& scratch,
                               const float* weight, X* x) {
  float* row = scratch.row;
  for_each_vector(args.head_dim,
                  [&](auto d, int64_t i) HWY_ATTR { hn::StoreU(load_x(d, x + i), d, row + i); });
  const float mean = sum_of_squares(row, args.head_dim) / static_cast<float>(args.head_dim);
  const float scale = 1.0F / std::sqrt(mean + args.eps);
  for_each_vector(args.head_dim, [&](auto d, int64_t i) HWY_ATTR {
    const auto normal = hn::Mul(hn::LoadU(d, row + i), hn::Set(d, scale));
    const auto factor = hn::Add(hn::Set(d, 1.0F), hn::LoadU(d, weight + i));
    hn::StoreU(hn::Mul(normal, factor), d, row + i);
  });
  const int64_t half = args.rotary_dim / 2;
  for_each_vector(half, [&](auto d, int64_t i) HWY_ATTR {
    const auto a = hn::LoadU(d, row + i);
    const auto b = hn::LoadU(d, row + half + i);
    const auto cosine = hn::LoadU(d, scratch.cosine + i);
    const auto sine = hn::LoadU(d, scratch.sine + i);
    hn::StoreU(hn::Sub(hn::Mul(a, cosine), hn::Mul(b, sine)), d, row + i);
    hn::StoreU(hn::Add(hn::Mul(b, cosine), hn::Mul(a, sine)), d, row + half + i);
  });
  for_each_vector(args.head_dim,
                  [&](auto d, int64_t i) HWY_ATTR { store_x(d, hn::LoadU(d, row + i), x + i); });
}

template <typename X>
HWY_INLINE void norm_rope_token(const QkNormRopeArgs& args, const RopeScratch& scratch, int64_t t) {
  for (int64_t h = 0; h < args.num_heads; ++h) {
    X* q = static_cast<X*>(args.q) + t * args.q_stride + h * args.q_head_stride;
    norm_rope_head(args, scratch, args.q_weight, q);
  }
  for (int64_t h = 0; h < args.num_kv_heads; ++h) {
    X* k = static_cast<X*>(args.k) + t * args.k_stride + h * args.head_dim;
    norm_rope_head(args, scratch, args.k_weight, k);
  }
}

void qk_norm_rope_tokens(const QkNormRopeArgs& args, DType x_dtype, int64_t begin, int64_t end,
                         float* memory) {
  const int64_t half = args.rotary_dim / 2;
  const RopeScratch scratch{memory, memory + args.head_dim, memory + args.head_dim + half};
  const int64_t tokens = args.batch->num_tokens;
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t j = 0; j < half; ++j) {
      const int32_t position = args.batch->positions[args.mrope_axis[j] * tokens + t];
      const float angle = static_cast<float>(position) * args.inv_freq[j];
      scratch.cosine[j] = std::cos(angle) * args.attention_factor;
      scratch.sine[j] = std::sin(angle) * args.attention_factor;
    }
    if (x_dtype == DType::kF32) {
      norm_rope_token<float>(args, scratch, t);
    } else {
      norm_rope_token<uint16_t>(args, scratch, t);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

void cpu_qk_norm_rope(CpuContext& context, const QkNormRopeArgs& args) {
  context.require_thread_scratch(static_cast<size_t>(args.head_dim + args.rotary_dim) *
                                 sizeof(float));
  const auto tokens = DS_SIMD_FUNCTION(context.isa, qk_norm_rope_tokens);
  parallel_for(
      context.threads, args.batch->num_tokens, 1, [&](int64_t begin, int64_t end, int32_t thread) {
        tokens(args, context.compute_dtype, begin, end, context.thread_scratch<float>(thread));
      });
}

}  // namespace deltaserve
#endif
