// The arithmetic of sampling that all backends share to the bit, so that the same logits and seed
// give the same token everywhere. A token's weight is an integer, which makes every sum over the
// vocabulary exact and independent of its order.
#pragma once

#include <cmath>
#include <cstdint>

namespace deltaserve {

// Weight of the most likely token. 2^32 keeps the sum over 2^20 tokens below 2^53, where float64
// counts integers exactly, and is 256 times finer than the 24 bits of the draw.
inline constexpr float kSamplingUnit = 4294967296.0F;

// Below this exponent a weight is zero: exp(-24) * 2^32 rounds to 0.
inline constexpr float kSamplingMinExponent = -24.0F;

// Largest vocabulary for which sums stay exact.
inline constexpr int64_t kSamplingMaxVocab = int64_t{1} << 20;

// exp(x) by 2^n * p(r), x = n ln2 + r, |r| <= ln2 / 2; p is the Taylor polynomial of degree 7 in
// Horner form, one multiplication and one addition a step, each rounded (never fused).
namespace sampling_exp {
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kRound = 12582912.0F;     // 1.5 * 2^23: adding it rounds to an integer
inline constexpr float kLn2High = 0.693359375F;  // few bits, so that n * kLn2High is exact
inline constexpr float kLn2Low = -2.12194440e-4F;
inline constexpr float kTerms[] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24,
                                   1.0F / 6,    0.5F,       1.0F,       1.0F};
}  // namespace sampling_exp

// round(2^32 exp(x)) for x <= 0, as a float32 that holds an integer; 0 for x < -24. Relative error
// of the exponential about 2^-23. Compile without floating-point contraction.
inline float sampling_weight(float x) {
  using namespace sampling_exp;
  if (!(x >= kSamplingMinExponent)) {
    return 0.0F;
  }
  const float n = (x * kLog2E + kRound) - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = kTerms[0];
  for (int i = 1; i < 8; ++i) {
    p = p * r + kTerms[i];
  }
  return std::nearbyint(std::ldexp(p, static_cast<int>(n) + 32));
}

}  // namespace deltaserve
