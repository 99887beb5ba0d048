// Functions of vectors, for the row ops; compiled once for each Highway target: exp, sigmoid, silu.
// Nothing hides a NaN or an infinity.
#if defined(DELTASERVE_SIMD_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DELTASERVE_SIMD_MATH_INL_H
#undef DELTASERVE_SIMD_MATH_INL_H
#else
#define DELTASERVE_SIMD_MATH_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace deltaserve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// What exp is made of: x = n ln2 + r, |r| <= ln2 / 2, and p = e^r.
template <class D>
struct ExpParts {
  hn::Vec<D> n;
  hn::Vec<D> p;
};

template <class D>
HWY_INLINE ExpParts<D> exp_parts(D d, hn::Vec<D> x) {
  const auto n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  // ln2 in two parts; the first has few bits, so that its product with n is exact.
  auto r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  // Taylor's terms up to r^7: the remainder is below 2^-26 for |r| <= ln2 / 2.
  auto p = hn::Set(d, 1.0F / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  return {n, p};
}

// exp(x) within 2 ulp. Zero below -87.33 (the result would be denormal), +Inf above 88.72; NaN
// stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const ExpParts<D> parts = exp_parts(d, x);
  // 2^n as two factors: n reaches 128, which one float32 exponent cannot hold.
  const auto exponent = hn::ConvertTo(di, parts.n);
  const auto half = hn::ShiftRight<1>(exponent);
  const auto bias = hn::Set(di, 127);
  const auto scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const auto scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(exponent, half), bias)));
  auto result = hn::Mul(hn::Mul(parts.p, scale1), scale2);
  result = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33F)), result);
  const auto infinity = hn::BitCast(d, hn::Set(di, 0x7f800000));
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7228F)), infinity, result);
}

// 1 + e^-x, the divisor of sigmoid and silu. Where e^-x is bounded, 1 / (1 + e^-x) has its limit:
// 1, or a denormal that is flushed to zero.
template <class D>
HWY_INLINE hn::Vec<D> one_plus_exp_of_negative(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  // A NaN is the second operand, which min and max of x86 return.
  const auto bounded = hn::Max(hn::Set(d, -87.33F), hn::Min(hn::Set(d, 88.0F), hn::Neg(x)));
  const ExpParts<D> parts = exp_parts(d, bounded);
  const auto exponent = hn::Add(hn::ConvertTo(di, parts.n), hn::Set(di, 127));
  return hn::MulAdd(parts.p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)), hn::Set(d, 1.0F));
}

template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
  return hn::Div(hn::Set(d, 1.0F), one_plus_exp_of_negative(d, x));
}

template <class D>
HWY_INLINE hn::Vec<D> silu(D d, hn::Vec<D> x) {
  return hn::Mul(x, sigmoid(d, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace deltaserve
HWY_AFTER_NAMESPACE();

#endif
