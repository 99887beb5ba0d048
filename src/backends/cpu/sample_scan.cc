// Vectorised passes over the vocabulary; see sample_scan.h. Weights follow ops/sampling_math.h
// operation by operation.
#include "backends/cpu/sample_scan.h"

#include "backends/cpu/simd_targets.h"
#include "ops/sampling_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sample_scan.cc"
#include <hwy/foreach_target.h>
#include <cmath>
#include <limits>

#include "backends/cpu/simd_math-inl.h"
#include "backends/cpu/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

using VF = hn::Vec<FullF32>;
#if HWY_TARGET == HWY_SCALAR
using F64 = hn::CappedTag<double, 1>;
#else
using HalfF32 = hn::Half<FullF32>;
using F64 = hn::Rebind<double, HalfF32>;
#endif

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

HWY_INLINE int64_t lane_count() {
  return static_cast<int64_t>(hn::Lanes(FullF32()));
}

// The lanes of v as float64, lower and upper half added.
HWY_INLINE hn::Vec<F64> widened_sum(VF v) {
#if HWY_TARGET == HWY_SCALAR
  return hn::PromoteTo(F64(), v);
#else
  const auto low = hn::PromoteTo(F64(), hn::LowerHalf(HalfF32(), v));
  return hn::Add(low, hn::PromoteTo(F64(), hn::UpperHalf(HalfF32(), v)));
#endif
}

HWY_INLINE double sum_lanes(hn::Vec<F64> v) {
  return hn::GetLane(hn::SumOfLanes(F64(), v));
}

// Calls body(block, begin, end) for each block of [0, count).
template <class Body>
HWY_INLINE void for_each_block(int64_t count, Body&& body) {
  for (int64_t block = 0; block * kSampleBlock < count; ++block) {
    const int64_t begin = block * kSampleBlock;
    body(block, begin, begin + kSampleBlock < count ? begin + kSampleBlock : count);
  }
}

bool maxima(const float* logits, int64_t count, float* out) {
  const FullF32 d;
  const VF infinity = hn::Set(d, -kMinusInfinity);
  const int64_t lanes = lane_count();
  auto good = hn::Eq(infinity, infinity);
  bool all_good = true;
  for_each_block(count, [&](int64_t block, int64_t begin, int64_t end) HWY_ATTR {
    VF largest = hn::Set(d, kMinusInfinity);
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const VF v = hn::LoadU(d, logits + i);
      good = hn::And(good, hn::Lt(v, infinity));  // false for NaN
      largest = hn::Max(largest, v);
    }
    float value = hn::GetLane(hn::MaxOfLanes(d, largest));
    for (; i < end; ++i) {
      all_good = all_good && logits[i] < -kMinusInfinity;
      value = logits[i] > value ? logits[i] : value;
    }
    out[block] = value;
  });
  return all_good && hn::AllTrue(d, good);
}

void mask(const float* logits, const uint64_t* allowed, int64_t count, float* out) {
  const FullF32 d;
  const hn::RebindToUnsigned<FullF32> du;
  const int64_t lanes = lane_count();
  const auto lane_bit = hn::Shl(hn::Set(du, 1), hn::Iota(du, 0));
  for_each_block(count, [&](int64_t block, int64_t begin, int64_t end) HWY_ATTR {
    const uint64_t word = allowed[block];
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const auto bits = hn::Set(du, static_cast<uint32_t>(word >> (i - begin)));
      const auto set = hn::RebindMask(d, hn::TestBit(bits, lane_bit));
      const VF v = hn::IfThenElse(set, hn::LoadU(d, logits + i), hn::Set(d, kMinusInfinity));
      hn::StoreU(v, d, out + i);
    }
    for (; i < end; ++i) {
      out[i] = (word >> (i - begin) & 1) != 0 ? logits[i] : kMinusInfinity;
    }
  });
}

// sampling_weight of every lane.
HWY_INLINE VF weights_of(VF x) {
  namespace terms = sampling_exp;
  const FullF32 d;
  const hn::RebindToSigned<FullF32> di;
  const VF round = hn::Set(d, terms::kRound);
  const VF n = hn::Sub(hn::Add(hn::Mul(x, hn::Set(d, terms::kLog2E)), round), round);
  const VF high = hn::Sub(x, hn::Mul(n, hn::Set(d, terms::kLn2High)));
  const VF r = hn::Sub(high, hn::Mul(n, hn::Set(d, terms::kLn2Low)));
  VF p = hn::Set(d, terms::kTerms[0]);
  for (int i = 1; i < 8; ++i) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, terms::kTerms[i]));
  }
  const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127 + 32));
  const VF scaled = hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, kSamplingMinExponent)), hn::Round(scaled));
}

double weigh(const float* logits, const float* block_maxima, int64_t count, float largest,
             float temperature, float min_weight, float* weights) {
  const FullF32 d;
  const int64_t lanes = lane_count();
  auto total = hn::Zero(F64());
  double rest = 0.0;
  for_each_block(count, [&](int64_t block, int64_t begin, int64_t end) HWY_ATTR {
    const bool empty = (block_maxima[block] - largest) / temperature < kSamplingMinExponent;
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      VF w = hn::Zero(d);
      if (!empty) {
        const VF shifted = hn::Sub(hn::LoadU(d, logits + i), hn::Set(d, largest));
        w = weights_of(hn::Div(shifted, hn::Set(d, temperature)));
        w = hn::IfThenElseZero(hn::Ge(w, hn::Set(d, min_weight)), w);
        total = hn::Add(total, widened_sum(w));
      }
      hn::StoreU(w, d, weights + i);
    }
    for (; i < end; ++i) {
      const float w = empty ? 0.0F : sampling_weight((logits[i] - largest) / temperature);
      weights[i] = w >= min_weight ? w : 0.0F;
      rest += weights[i];
    }
  });
  return sum_lanes(total) + rest;
}

// Stores the wanted lanes of v, which begins at token `first`, and their tokens; returns how many.
// Whole vectors are stored: storing only the wanted lanes is microcode on Zen 4.
template <class M>
HWY_INLINE int64_t append(VF v, M wanted, int64_t first, float* values, int32_t* tokens) {
  const FullF32 d;
  const hn::RebindToSigned<FullF32> di;
  const auto ids = hn::Iota(di, static_cast<int32_t>(first));
  hn::StoreU(hn::Compress(ids, hn::RebindMask(di, wanted)), di, tokens);
  hn::StoreU(hn::Compress(v, wanted), d, values);
  return static_cast<int64_t>(hn::CountTrue(d, wanted));
}

int64_t collect(const float* values, const float* block_maxima, int64_t count, float threshold,
                float* out_values, int32_t* out_tokens) {
  const FullF32 d;
  const int64_t lanes = lane_count();
  int64_t found = 0;
  for_each_block(count, [&](int64_t block, int64_t begin, int64_t end) HWY_ATTR {
    if (block_maxima != nullptr && block_maxima[block] < threshold) {
      return;
    }
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const VF v = hn::LoadU(d, values + i);
      const auto wanted = hn::Ge(v, hn::Set(d, threshold));
      if (hn::AllFalse(d, wanted)) {
        continue;
      }
      found += append(v, wanted, i, out_values + found, out_tokens + found);
    }
    for (; i < end; ++i) {
      if (values[i] >= threshold) {
        out_values[found] = values[i];
        out_tokens[found++] = static_cast<int32_t>(i);
      }
    }
  });
  return found;
}

HeavySum collect_between(const float* weights, int64_t count, float low, float high,
                         float* out_values, int32_t* out_tokens) {
  const FullF32 d;
  const int64_t lanes = lane_count();
  auto heavier = hn::Zero(F64());
  HeavySum out;
  for_each_block(count, [&](int64_t, int64_t begin, int64_t end) HWY_ATTR {
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const VF w = hn::LoadU(d, weights + i);
      const auto heavy = hn::Ge(w, hn::Set(d, high));
      const auto wanted = hn::AndNot(heavy, hn::Ge(w, hn::Set(d, low)));
      heavier = hn::Add(heavier, widened_sum(hn::IfThenElseZero(heavy, w)));
      if (!hn::AllFalse(d, wanted)) {
        out.found += append(w, wanted, i, out_values + out.found, out_tokens + out.found);
      }
    }
    for (; i < end; ++i) {
      if (weights[i] >= high) {
        out.sum += weights[i];
      } else if (weights[i] >= low) {
        out_values[out.found] = weights[i];
        out_tokens[out.found++] = static_cast<int32_t>(i);
      }
    }
  });
  out.sum += sum_lanes(heavier);
  return out;
}

HWY_INLINE float kept_weight(float weight, int64_t token, SampleCut cut) {
  const bool kept = weight > cut.weight || (weight == cut.weight && token <= cut.token);
  return kept ? weight : 0.0F;
}

int32_t draw(const float* weights, int64_t count, SampleCut cut, double target) {
  const FullF32 d;
  const hn::RebindToSigned<FullF32> di;
  const int64_t lanes = lane_count();
  const VF cut_weight = hn::Set(d, cut.weight);
  double before = 0.0;
  for (int64_t begin = 0; begin < count; begin += kSampleBlock) {
    const int64_t end = begin + kSampleBlock < count ? begin + kSampleBlock : count;
    auto sum = hn::Zero(F64());
    double rest = 0.0;
    int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      const VF w = hn::LoadU(d, weights + i);
      const auto tokens = hn::Iota(di, static_cast<int32_t>(i));
      const auto late = hn::RebindMask(d, hn::Gt(tokens, hn::Set(di, cut.token)));
      const auto equal = hn::AndNot(late, hn::Eq(w, cut_weight));
      sum = hn::Add(sum, widened_sum(hn::IfThenElseZero(hn::Or(hn::Gt(w, cut_weight), equal), w)));
    }
    for (; i < end; ++i) {
      rest += kept_weight(weights[i], i, cut);
    }
    const double after = before + sum_lanes(sum) + rest;
    if (after > target) {
      for (i = begin; i < end; ++i) {
        before += kept_weight(weights[i], i, cut);
        if (before > target) {
          return static_cast<int32_t>(i);
        }
      }
    }
    before = after;
  }
  return -1;
}

double sum_exp(const float* logits, int64_t count, float largest) {
  const FullF32 d;
  const int64_t lanes = lane_count();
  auto sum = hn::Zero(F64());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF shifted = hn::Sub(hn::LoadU(d, logits + i), hn::Set(d, largest));
    sum = hn::Add(sum, widened_sum(exp(d, shifted)));
  }
  double rest = 0.0;
  for (; i < count; ++i) {
    rest += hn::GetLane(exp(OneF32(), hn::Set(OneF32(), logits[i] - largest)));
  }
  return sum_lanes(sum) + rest;
}

SampleScan scan_functions() {
  return {.maxima = maxima,
          .mask = mask,
          .weigh = weigh,
          .collect = collect,
          .collect_between = collect_between,
          .draw = draw,
          .sum_exp = sum_exp};
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace deltaserve {

SampleScan sample_scan(CpuIsa isa) {
  return DS_SIMD_FUNCTION(isa, scan_functions)();
}

}  // namespace deltaserve
#endif
