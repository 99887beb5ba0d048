// Vectors along a row, for the row ops; compiled once for each Highway target: X (float32, or
// bfloat16 as its 16 bits) to float32 and back, loops and sums.
#if defined(DELTASERVE_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DELTASERVE_SIMD_ROWS_INL_H
#undef DELTASERVE_SIMD_ROWS_INL_H
#else
#define DELTASERVE_SIMD_ROWS_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 lanes: a KV block is one vector of scores.
using FullF32 = hn::CappedTag<float, 16>;
using OneF32 = hn::CappedTag<float, 1>;

template <class D>
HWY_INLINE hn::Vec<D> load_x(D d, const float* x) {
  return hn::LoadU(d, x);
}

template <class D>
HWY_INLINE hn::Vec<D> load_x(D d, const uint16_t* x) {
  const hn::Rebind<uint16_t, D> du16;
  const hn::RebindToUnsigned<D> du32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, x))));
}

template <class D>
HWY_INLINE void store_x(D d, hn::Vec<D> v, float* x) {
  hn::StoreU(v, d, x);
}

// Rounds to nearest even; a NaN stays a quiet NaN.
template <class D>
HWY_INLINE void store_x(D /*d*/, hn::Vec<D> v, uint16_t* x) {
  const hn::Rebind<uint16_t, D> du16;
  const hn::RebindToUnsigned<D> du32;
  const auto bits = hn::BitCast(du32, v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du32, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du32, 0x7fff))));
  const auto quiet = hn::Or(high, hn::Set(du32, 0x40));
  const auto is_nan = hn::RebindMask(du32, hn::IsNaN(v));
  hn::StoreU(hn::TruncateTo(du16, hn::IfThenElse(is_nan, quiet, rounded)), du16, x);
}

// body(d, i) over [0, count) with full vectors, then with single lanes: the lanes of both do the
// same operations, so a value does not depend on where the vector ends.
template <class Body>
HWY_INLINE void for_each_vector(int64_t count, Body&& body) {
  const FullF32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(d, i);
  }
  for (; i < count; ++i) {
    body(OneF32(), i);
  }
}

// sum of x[i]² over float32 values: four vectors of partial sums, added in a fixed order.
HWY_INLINE float sum_of_squares(const float* x, int64_t count) {
  const FullF32 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  int64_t i = 0;
  const auto add = [&](auto& sum, int64_t at) HWY_ATTR {
    const auto v = hn::LoadU(d, x + at);
    sum = hn::MulAdd(v, v, sum);
  };
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    add(sum0, i);
    add(sum1, i + lanes);
    add(sum2, i + 2 * lanes);
    add(sum3, i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) {
    add(sum0, i);
  }
  const auto sum = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) {
    total += x[i] * x[i];
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#endif
