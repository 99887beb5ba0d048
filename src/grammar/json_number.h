// Numbers between limits, as the decimal texts that a model may write for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "grammar/expr.h"
#include "json/json.h"

namespace deltaserve {

// An exact decimal: (-1)^negative * whole.fraction. JSON's doubles are written as their shortest
// decimal first, so that 0.1 means one tenth.
struct Decimal {
  bool negative = false;
  std::string whole;     // digits before the point, without leading zeros; "" for 0
  std::string fraction;  // digits behind it, without trailing zeros

  static Decimal of(const json::Value& number);
  bool zero() const { return whole.empty() && fraction.empty(); }
  bool operator==(const Decimal&) const = default;
  std::string text() const;  // without an exponent
};

struct NumberLimits {
  std::optional<Decimal> min;
  std::optional<Decimal> max;
  bool min_exclusive = false;
  bool max_exclusive = false;
};

// Without exponents. `integer`: without a fraction as well. kNothing if there is no such number.
ExprId limited_number(ExprPool& pool, const NumberLimits& limits, bool integer);

// Integers that `divisor` (1 to kMaxDivisor) divides; multiples of divisor / 10^places, where
// divisor * places is limited like that; numbers with at most `places` digits behind the point,
// which are the multiples of 10^-places.
inline constexpr int64_t kMaxDivisor = 10'000;
ExprId integer_multiple(ExprPool& pool, int64_t divisor);
ExprId decimal_multiple(ExprPool& pool, int64_t divisor, int32_t places);
ExprId number_with_places(ExprPool& pool, int32_t places);

}  // namespace deltaserve
