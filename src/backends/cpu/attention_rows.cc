// Attention over one split: scores from transposed K, softmax, weighted sum of V; see
// attention_rows.h. Every sum has one fixed order: a score over ascending dimensions, an output
// over ascending tokens, the softmax sum over the split's vectors of tokens.
#include "backends/cpu/attention_rows.h"

#include "backends/cpu/kv_layout.h"
#include "backends/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention_rows.cc"
#include <hwy/foreach_target.h>
#include <cmath>
#include <limits>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

using VF = hn::Vec<FullF32>;

constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float) < 16 ? HWY_LANES(float) : 16);

// Query vectors per pass: with two vectors of sums each, K or V and a broadcast they fill the
// registers (32 with AVX-512, 16 below).
constexpr int kPass = kLanes == 16 ? 8 : 4;

// The two float32 vectors that a vector of pairs holds.
struct Pair {
  VF even;
  VF odd;
};

// K of dimensions (2 pair, 2 pair + 1) of the tokens [offset, offset + lanes) of a block.
HWY_INLINE Pair load_k(const float* k, int64_t pair, int64_t offset) {
  const FullF32 d;
  Pair out;
  hn::LoadInterleaved2(d, k + (pair * kBlockSize + offset) * 2, out.even, out.odd);
  return out;
}

HWY_INLINE Pair split_pairs(const uint16_t* pairs) {
  const FullF32 d;
  const hn::RebindToUnsigned<FullF32> du;
  const auto both = hn::LoadU(du, reinterpret_cast<const uint32_t*>(pairs));
  return {hn::BitCast(d, hn::ShiftLeft<16>(both)),
          hn::BitCast(d, hn::And(both, hn::Set(du, 0xffff0000U)))};
}

HWY_INLINE Pair load_k(const uint16_t* k, int64_t pair, int64_t offset) {
  return split_pairs(k + (pair * kBlockSize + offset) * 2);
}

// V of the tokens (2 pair, 2 pair + 1) of a block, dimensions [dim, dim + lanes).
HWY_INLINE Pair load_v(const float* v, int64_t pair, int64_t dim) {
  const FullF32 d;
  Pair out;
  hn::LoadInterleaved2(d, v + v_index(2 * pair, dim), out.even, out.odd);
  return out;
}

HWY_INLINE Pair load_v(const uint16_t* v, int64_t pair, int64_t dim) {
  return split_pairs(v + v_index(2 * pair, dim));
}

// Asks for `count` elements; the address may be outside of what is used.
template <typename X>
HWY_INLINE void prefetch(const X* address, int64_t count) {
  constexpr int64_t kLine = 64;
  constexpr int kRead = 0;
  constexpr int kToL2 = 2;  // with L1 as the target, decode from memory lost a third
  for (int64_t byte = 0; byte < count * static_cast<int64_t>(sizeof(X)); byte += kLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(address) + byte, kRead, kToL2);
  }
}

// Scores of kVectors query vectors with 2 * lanes tokens: one vector of tokens at k0, one at k1.
// `ahead0` and `ahead1`: what the next pass reads first; every step brings near as much of it as it
// reads itself. Blocks lie anywhere in the cache, so the hardware cannot follow them.
template <int kVectors, typename X>
HWY_INLINE void score_pass(const AttentionSplit& split, int64_t first, const X* k0, int64_t offset0,
                           const X* k1, int64_t offset1, int64_t token, const X* ahead0,
                           const X* ahead1) {
  const FullF32 d;
  VF sums0[kVectors];
  VF sums1[kVectors];
  for (int m = 0; m < kVectors; ++m) {
    sums0[m] = hn::Zero(d);
    sums1[m] = hn::Zero(d);
  }
  const float* q = split.q + first * split.head_dim;
  for (int64_t pair = 0; pair < split.head_dim / 2; ++pair) {
    const Pair a = load_k(k0, pair, offset0);
    const Pair b = load_k(k1, pair, offset1);
    prefetch(ahead0 + pair * kBlockSize * 2, kBlockSize * 2);
    if (kLanes == kBlockSize) {  // otherwise one pass is within one block
      prefetch(ahead1 + pair * kBlockSize * 2, kBlockSize * 2);
    }
    for (int m = 0; m < kVectors; ++m) {
      const float* row = q + m * split.head_dim + 2 * pair;
      const VF q_even = hn::Set(d, row[0]);
      sums0[m] = hn::MulAdd(q_even, a.even, sums0[m]);
      sums1[m] = hn::MulAdd(q_even, b.even, sums1[m]);
      const VF q_odd = hn::Set(d, row[1]);
      sums0[m] = hn::MulAdd(q_odd, a.odd, sums0[m]);
      sums1[m] = hn::MulAdd(q_odd, b.odd, sums1[m]);
    }
  }
  const VF scale = hn::Set(d, split.scale);
  for (int m = 0; m < kVectors; ++m) {
    float* scores = split.scores + (first + m) * kAttentionSplit + token;
    hn::StoreU(hn::Mul(sums0[m], scale), d, scores);
    hn::StoreU(hn::Mul(sums1[m], scale), d, scores + kLanes);
  }
}

template <int kVectors, typename X>
HWY_INLINE void scores_of(const AttentionSplit& split, int64_t first) {
  const int64_t length = split.lengths[first + kVectors - 1];
  const X* cache = static_cast<const X*>(split.kv_cache);
  const int64_t last_block = (length - 1) / kBlockSize;
  const auto k_of = [&](int64_t block) { return cache + split.blocks[block] * split.block_stride; };
  // After the last block of K comes V of the first one.
  const auto k_or_v_of = [&](int64_t block) {
    return block <= last_block ? k_of(block) : k_of(0) + kv_head_elements(split.head_dim);
  };
  for (int64_t token = 0; token < length; token += 2 * kLanes) {
    const int64_t block0 = token / kBlockSize;
    const int64_t next = token + kLanes;
    // Past the last block the first one is read again; those scores are masked.
    const int64_t block1 = next / kBlockSize <= last_block ? next / kBlockSize : block0;
    score_pass<kVectors, X>(split, first, k_of(block0), token % kBlockSize, k_of(block1),
                            next % kBlockSize, token, k_or_v_of(block1 + 1), k_or_v_of(block1 + 2));
  }
}

// Scores to exp(score - largest), zero from `length` on, up to a whole vector.
SoftmaxState softmax(float* scores, int64_t length) {
  const FullF32 d;
  const hn::RebindToSigned<FullF32> di;
  const VF minus_infinity = hn::Set(d, -std::numeric_limits<float>::infinity());
  const int64_t last = (length - 1) / kLanes * kLanes;  // first token of the last vector
  const auto seen =
      hn::RebindMask(d, hn::Lt(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(length - last))));
  hn::StoreU(hn::IfThenElse(seen, hn::LoadU(d, scores + last), minus_infinity), d, scores + last);
  VF largest = minus_infinity;
  for (int64_t i = 0; i <= last; i += kLanes) {
    largest = hn::Max(largest, hn::LoadU(d, scores + i));
  }
  SoftmaxState state{.largest = hn::GetLane(hn::MaxOfLanes(d, largest)), .sum = 0.0F};
  const VF shift = hn::Set(d, state.largest);
  VF sum = hn::Zero(d);
  for (int64_t i = 0; i <= last; i += kLanes) {
    const VF p = exp(d, hn::Sub(hn::LoadU(d, scores + i), shift));
    hn::StoreU(p, d, scores + i);
    sum = hn::Add(sum, p);
  }
  state.sum = hn::GetLane(hn::SumOfLanes(d, sum));
  return state;
}

// out[m][dim..] += the first `end` tokens of one block.
// `ahead`: V of the next block.
template <int kVectors, int kWidth, typename X>
HWY_INLINE void value_pass(const AttentionSplit& split, int64_t first, const X* v, int64_t token,
                           int64_t end, int64_t dim, const X* ahead) {
  const FullF32 d;
  VF sums[kVectors][kWidth];
  float* out = split.out + first * split.head_dim + dim;
  for (int m = 0; m < kVectors; ++m) {
    for (int w = 0; w < kWidth; ++w) {
      sums[m][w] = hn::LoadU(d, out + m * split.head_dim + w * kLanes);
    }
  }
  const float* weights = split.scores + first * kAttentionSplit + token;
  int64_t t = 0;
  for (; t + 2 <= end; t += 2) {
    Pair values[kWidth];
    prefetch(ahead + (dim * (kBlockSize / 2) + t / 2 * kWidth * kLanes) * 2, kWidth * kLanes * 2);
    for (int w = 0; w < kWidth; ++w) {
      values[w] = load_v(v, t / 2, dim + w * kLanes);
    }
    for (int m = 0; m < kVectors; ++m) {
      const VF even = hn::Set(d, weights[m * kAttentionSplit + t]);
      const VF odd = hn::Set(d, weights[m * kAttentionSplit + t + 1]);
      for (int w = 0; w < kWidth; ++w) {
        sums[m][w] = hn::MulAdd(even, values[w].even, sums[m][w]);
        sums[m][w] = hn::MulAdd(odd, values[w].odd, sums[m][w]);
      }
    }
  }
  if (t < end) {
    for (int w = 0; w < kWidth; ++w) {
      const VF value = load_v(v, t / 2, dim + w * kLanes).even;
      for (int m = 0; m < kVectors; ++m) {
        const VF even = hn::Set(d, weights[m * kAttentionSplit + t]);
        sums[m][w] = hn::MulAdd(even, value, sums[m][w]);
      }
    }
  }
  for (int m = 0; m < kVectors; ++m) {
    for (int w = 0; w < kWidth; ++w) {
      hn::StoreU(sums[m][w], d, out + m * split.head_dim + w * kLanes);
    }
  }
}

// The one token that a vector of a group may see beyond an even common length.
template <typename X>
HWY_INLINE void value_token(const AttentionSplit& split, int64_t m, const X* v, int64_t token,
                            int64_t offset) {
  const FullF32 d;
  float* out = split.out + m * split.head_dim;
  const VF weight = hn::Set(d, split.scores[m * kAttentionSplit + token]);
  for (int64_t dim = 0; dim < split.head_dim; dim += kLanes) {
    const Pair values = load_v(v, offset / 2, dim);
    const VF value = offset % 2 == 0 ? values.even : values.odd;
    hn::StoreU(hn::MulAdd(weight, value, hn::LoadU(d, out + dim)), d, out + dim);
  }
}

template <int kVectors, typename X>
HWY_INLINE void values_of(const AttentionSplit& split, int64_t first) {
  const X* cache = static_cast<const X*>(split.kv_cache) + kv_head_elements(split.head_dim);
  // Vectors of one pass see about the same tokens: the common ones together, the rest one by one.
  // A token that a vector does not see is not read, not even with weight zero.
  const int64_t common = split.lengths[first];
  for (int64_t token = 0; token < common; token += kBlockSize) {
    const X* v = cache + split.blocks[token / kBlockSize] * split.block_stride;
    const int64_t end = common - token < kBlockSize ? common - token : kBlockSize;
    const int64_t next = token + kBlockSize < common ? token + kBlockSize : token;
    const X* ahead = cache + split.blocks[next / kBlockSize] * split.block_stride;
    int64_t dim = 0;
    for (; dim + 2 * kLanes <= split.head_dim; dim += 2 * kLanes) {
      value_pass<kVectors, 2, X>(split, first, v, token, end, dim, ahead);
    }
    for (; dim < split.head_dim; dim += kLanes) {
      value_pass<kVectors, 1, X>(split, first, v, token, end, dim, ahead);
    }
  }
  for (int64_t m = first; m < first + kVectors; ++m) {
    for (int64_t token = common; token < split.lengths[m]; ++token) {
      const X* v = cache + split.blocks[token / kBlockSize] * split.block_stride;
      value_token(split, m, v, token, token % kBlockSize);
    }
  }
}

template <int kVectors, typename X>
HWY_NOINLINE void split_pass(const AttentionSplit& split, int64_t first) {
  scores_of<kVectors, X>(split, first);
  for (int64_t m = first; m < first + kVectors; ++m) {
    split.states[m] = softmax(split.scores + m * kAttentionSplit, split.lengths[m]);
    for (int64_t i = 0; i < split.head_dim; ++i) {
      split.out[m * split.head_dim + i] = 0.0F;
    }
  }
  values_of<kVectors, X>(split, first);
}

template <typename X>
HWY_INLINE void split_group(const AttentionSplit& split) {
  int64_t first = 0;
  for (; first + kPass <= split.count; first += kPass) {
    split_pass<kPass, X>(split, first);
  }
  for (; first + 2 <= split.count; first += 2) {
    split_pass<2, X>(split, first);
  }
  if (first < split.count) {
    split_pass<1, X>(split, first);
  }
}

void run_split(DType x_dtype, const AttentionSplit& split) {
  if (x_dtype == DType::kF32) {
    split_group<float>(split);
  } else {
    split_group<uint16_t>(split);
  }
}

void load_query(DType x_dtype, const void* q, int64_t head_dim, float* out) {
  for_each_vector(head_dim, [&](auto d, int64_t i) HWY_ATTR {
    const auto v = x_dtype == DType::kF32 ? load_x(d, static_cast<const float*>(q) + i)
                                          : load_x(d, static_cast<const uint16_t*>(q) + i);
    hn::StoreU(v, d, out + i);
  });
}

void merge_split(SoftmaxState& state, float* out, const SoftmaxState& later, const float* later_out,
                 int64_t head_dim) {
  const OneF32 one;
  const float largest = state.largest > later.largest ? state.largest : later.largest;
  const float keep = hn::GetLane(exp(one, hn::Set(one, state.largest - largest)));
  const float add = hn::GetLane(exp(one, hn::Set(one, later.largest - largest)));
  state.largest = largest;
  state.sum = state.sum * keep + later.sum * add;
  for_each_vector(head_dim, [&](auto d, int64_t i) HWY_ATTR {
    const auto kept = hn::Mul(hn::LoadU(d, out + i), hn::Set(d, keep));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, later_out + i), hn::Set(d, add), kept), d, out + i);
  });
}

template <typename X>
HWY_INLINE void finish_row(const SoftmaxState& state, const float* out, const X* gate,
                           int64_t head_dim, X* result) {
  const float inverse = 1.0F / state.sum;
  for_each_vector(head_dim, [&](auto d, int64_t i) HWY_ATTR {
    const auto mean = hn::Mul(hn::LoadU(d, out + i), hn::Set(d, inverse));
    store_x(d, hn::Mul(mean, sigmoid(d, load_x(d, gate + i))), result + i);
  });
}

void finish(DType x_dtype, const SoftmaxState& state, const float* out, const void* gate,
            int64_t head_dim, void* result) {
  if (x_dtype == DType::kF32) {
    finish_row(state, out, static_cast<const float*>(gate), head_dim, static_cast<float*>(result));
  } else {
    finish_row(state, out, static_cast<const uint16_t*>(gate), head_dim,
               static_cast<uint16_t*>(result));
  }
}

AttentionFunctions functions() {
  return {.load_query = load_query,
          .split = run_split,
          .softmax = softmax,
          .merge = merge_split,
          .finish = finish};
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

AttentionFunctions attention_functions(CpuIsa isa) {
  return DS_SIMD_FUNCTION(isa, functions)();
}

}  // namespace deltaserve
#endif
