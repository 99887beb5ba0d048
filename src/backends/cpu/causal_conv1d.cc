// causal_conv1d: depthwise convolution of width 4 and SiLU. Channels lie in vectors, tokens follow
// one another with the last three inputs in registers; a task is a sequence's strip of channels. A
// token's bits are the same in prefill and in decode.
#include <algorithm>

#include "backends/cpu/row_ops.h"
#include "backends/cpu/simd_targets.h"
#include "backends/cpu/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/causal_conv1d.cc"
#include <hwy/foreach_target.h>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

// The taps of Lanes(d) channels: weight is [C, 4].
template <class D>
HWY_INLINE void load_taps(D d, const float* weight, hn::Vec<D> (&taps)[4]) {
  hn::LoadInterleaved4(d, weight, taps[0], taps[1], taps[2], taps[3]);
}

HWY_INLINE void load_taps(OneF32 d, const float* weight, hn::Vec<OneF32> (&taps)[4]) {
  for (int j = 0; j < 4; ++j) {
    taps[j] = hn::Set(d, weight[j]);
  }
}

// Tokens [begin, end) of one sequence, channels [c, c + kVectors * Lanes(d)); `fresh`: the state
// counts as zero. Rows are far apart, so that no hardware prefetch follows them.
template <typename X, int kVectors, class D>
HWY_INLINE void conv_lanes(const CausalConv1dArgs& args, D d, float* state, int64_t c,
                           int64_t begin, int64_t end, bool fresh) {
  constexpr int64_t kAhead = 12;  // tokens
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> taps[kVectors][4];
  hn::Vec<D> last[kVectors][3];
  for (int v = 0; v < kVectors; ++v) {
    load_taps(d, args.weight + (c + v * lanes) * 4, taps[v]);
    for (int i = 0; i < 3; ++i) {
      last[v][i] = fresh ? hn::Zero(d) : hn::LoadU(d, state + i * args.C + c + v * lanes);
    }
  }
  const X* x = static_cast<const X*>(args.x) + c;
  X* out = static_cast<X*>(args.out) + c;
  for (int64_t t = begin; t < end; ++t) {
    const int64_t ahead = t + kAhead < end ? t + kAhead : t;
    __builtin_prefetch(x + ahead * args.x_stride);
    __builtin_prefetch(out + ahead * args.out_stride, 1);
    for (int v = 0; v < kVectors; ++v) {
      const auto now = load_x(d, x + t * args.x_stride + v * lanes);
      auto sum = hn::Mul(taps[v][0], last[v][0]);
      sum = hn::MulAdd(taps[v][1], last[v][1], sum);
      sum = hn::MulAdd(taps[v][2], last[v][2], sum);
      sum = hn::MulAdd(taps[v][3], now, sum);
      store_x(d, silu(d, sum), out + t * args.out_stride + v * lanes);
      last[v][0] = last[v][1];
      last[v][1] = last[v][2];
      last[v][2] = now;
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int i = 0; i < 3; ++i) {
      hn::StoreU(last[v][i], d, state + i * args.C + c + v * lanes);
    }
  }
}

// Channels [first, last) of sequence s, in tiles of tokens whose lines stay in L2 until all vectors
// have passed. Vectors go in pairs where registers allow it: a cache line of bfloat16 at once.
template <typename X>
HWY_INLINE void conv_tiles(const CausalConv1dArgs& args, int64_t s, int64_t first, int64_t last) {
  constexpr int64_t kTile = 128;
  const BatchView& batch = *args.batch;
  const FullF32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t begin = batch.cu_seqlens[s];
  const int64_t end = batch.cu_seqlens[s + 1];
  float* state = args.conv_state + batch.state_slots[s] * 3 * args.C;
  for (int64_t t = begin; t < end; t += kTile) {
    const int64_t tile_end = t + kTile < end ? t + kTile : end;
    const bool fresh = t == begin && batch.context_lens[s] == 0;
    int64_t c = first;
    for (; lanes == 16 && c + 2 * lanes <= last; c += 2 * lanes) {
      conv_lanes<X, 2>(args, d, state, c, t, tile_end, fresh);
    }
    for_each_vector(last - c, [&](auto part, int64_t i) HWY_ATTR {
      conv_lanes<X, 1>(args, part, state, c + i, t, tile_end, fresh);
    });
  }
}

void conv_strip(const CausalConv1dArgs& args, DType x_dtype, int64_t s, int64_t first,
                int64_t last) {
  if (x_dtype == DType::kF32) {
    conv_tiles<float>(args, s, first, last);
  } else {
    conv_tiles<uint16_t>(args, s, first, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {
namespace {

constexpr int64_t kStrip =
    256;  // channels: whole cache lines of X, 24 strips in the smallest model

// The inputs before the next token if only the first `count` rows of sequence s stay: `state` has
// those after all of them, `before` [3][kStrip] those before the step.
void keep_stored_inputs(const CpuContext& context, const CausalConv1dArgs& args, int64_t s,
                        int64_t first, int64_t last, const float* before, float* state) {
  const BatchView& batch = *args.batch;
  const bool fresh = batch.context_lens[s] == 0;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t row = batch.stored_len(s) - 3 + i;
    for (int64_t c = first; c < last; ++c) {
      float value = 0.0F;
      if (row >= 0) {
        const int64_t at = (batch.cu_seqlens[s] + row) * args.x_stride + c;
        value = context.compute_dtype == DType::kBF16
                    ? to_float(BFloat16{static_cast<const uint16_t*>(args.x)[at]})
                    : static_cast<const float*>(args.x)[at];
      } else if (!fresh) {
        value = before[(3 + row) * kStrip + c - first];
      }
      state[i * args.C + c] = value;
    }
  }
}

using ConvStrip = void (*)(const CausalConv1dArgs&, DType, int64_t, int64_t, int64_t);

void run_strip(const CpuContext& context, const CausalConv1dArgs& args, ConvStrip strip, int64_t s,
               int64_t first, int64_t last) {
  const BatchView& batch = *args.batch;
  if (batch.stored_len(s) == batch.cu_seqlens[s + 1] - batch.cu_seqlens[s]) {
    strip(args, context.compute_dtype, s, first, last);
    return;
  }
  float* state = args.conv_state + batch.state_slots[s] * 3 * args.C;
  float before[3 * kStrip];
  for (int64_t i = 0; i < 3; ++i) {
    std::copy(state + i * args.C + first, state + i * args.C + last, before + i * kStrip);
  }
  strip(args, context.compute_dtype, s, first, last);
  keep_stored_inputs(context, args, s, first, last, before, state);
}

}  // namespace

void cpu_causal_conv1d(CpuContext& context, const CausalConv1dArgs& args) {
  const auto strip = DS_SIMD_FUNCTION(context.isa, conv_strip);
  const int64_t strips = (args.C + kStrip - 1) / kStrip;
  // A strip of one token takes about 0.2 us: a decode step needs several a thread.
  const int64_t grain = args.batch->max_query_len >= 16 ? 1 : 8;
  parallel_for(context.threads, args.batch->num_seqs * strips, grain,
               [&](int64_t begin, int64_t end, int32_t /*thread*/) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t first = i % strips * kStrip;
                   const int64_t last = first + kStrip < args.C ? first + kStrip : args.C;
                   run_strip(context, args, strip, i / strips, first, last);
                 }
               });
}

}  // namespace deltaserve
#endif
