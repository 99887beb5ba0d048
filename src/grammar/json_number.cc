// A limit is compared digit by digit: a decimal is larger than another if it has more digits before
// the point or the larger digit where they first differ. Both limits together are an intersection.
#include "grammar/json_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace deltaserve {
namespace {

constexpr int32_t kMany = ExprPool::kUnbounded;

class Digits {
 public:
  explicit Digits(ExprPool& pool) : pool_(pool), digit_(between('0', '9')) {}

  ExprId between(char low, char high) {
    if (low > high) return ExprPool::kNothing;
    return pool_.bytes(ByteSet::range(static_cast<uint8_t>(low), static_cast<uint8_t>(high)));
  }
  ExprId any(int32_t min, int32_t max) { return pool_.repeat(digit_, min, max); }

  // Whole numbers without leading zeros.
  ExprId whole() { return pool_.alt(between('0', '0'), positive(0, kMany)); }
  // 1 to 9 and min to max digits.
  ExprId positive(int32_t min, int32_t max) {
    return pool_.concat(between('1', '9'), any(min, max));
  }

  // Digit strings as long as `limit` that are larger, or smaller.
  ExprId same_length(std::string_view limit, bool larger) {
    if (limit.empty()) return ExprPool::kNothing;
    const char c = limit.front();
    const auto rest = static_cast<int32_t>(limit.size() - 1);
    const ExprId differs = pool_.concat(
        larger ? between(static_cast<char>(c + 1), '9') : between('0', static_cast<char>(c - 1)),
        any(rest, rest));
    return pool_.alt(differs, pool_.concat(between(c, c), same_length(limit.substr(1), larger)));
  }

  ExprId whole_beyond(std::string_view limit, bool larger) {
    const auto size = static_cast<int32_t>(limit.size());
    if (limit.empty()) return larger ? positive(0, kMany) : ExprPool::kNothing;
    if (larger) return pool_.alt(no_leading_zero(same_length(limit, true)), positive(size, kMany));
    const ExprId shorter =
        size == 1 ? ExprPool::kNothing : pool_.alt(between('0', '0'), positive(0, size - 2));
    return pool_.alt(shorter, no_leading_zero(same_length(limit, false), size));
  }
  ExprId whole_equal(std::string_view limit) { return pool_.literal(limit.empty() ? "0" : limit); }

  // "" or a point and digits.
  ExprId any_fraction() { return pool_.optional(pool_.concat(point(), any(1, kMany))); }
  // Fractions beyond that of the limit; with `equal` those equal to it too.
  ExprId fraction_beyond(std::string_view limit, bool larger, bool equal) {
    const ExprId zeros = pool_.repeat(between('0', '0'), 0, kMany);
    ExprId with_point = larger ? larger_tail(limit) : smaller_tail(limit);
    if (equal) with_point = pool_.alt(with_point, pool_.concat(pool_.literal(limit), zeros));
    with_point = pool_.both(with_point, any(1, kMany));
    const ExprId written = pool_.concat(point(), with_point);
    const bool bare = larger ? limit.empty() && equal : !limit.empty() || equal;
    return bare ? pool_.optional(written) : written;
  }

 private:
  ExprId point() { return pool_.literal("."); }

  ExprId no_leading_zero(ExprId digits, int32_t size = 2) {
    if (size == 1) return digits;
    return pool_.both(digits, pool_.alt(positive(0, kMany), between('0', '0')));
  }

  // Digit strings of any length that stand for more than 0.limit.
  ExprId larger_tail(std::string_view limit) {
    if (limit.empty()) {
      return pool_.concat(pool_.repeat(between('0', '0'), 0, kMany), positive(0, kMany));
    }
    const char c = limit.front();
    const ExprId differs = pool_.concat(between(static_cast<char>(c + 1), '9'), any(0, kMany));
    return pool_.alt(differs, pool_.concat(between(c, c), larger_tail(limit.substr(1))));
  }
  // And for less. The limit does not end with 0, so a string that stops early is less.
  ExprId smaller_tail(std::string_view limit) {
    if (limit.empty()) return ExprPool::kNothing;
    const char c = limit.front();
    const ExprId differs = pool_.concat(between('0', static_cast<char>(c - 1)), any(0, kMany));
    const ExprId equal = pool_.concat(between(c, c), smaller_tail(limit.substr(1)));
    return pool_.alt({ExprPool::kEmpty, differs, equal});
  }

  ExprPool& pool_;
  ExprId digit_;
};

// Magnitudes beyond the limit's, written without a sign.
ExprId magnitude_beyond(ExprPool& pool, const Decimal& limit, bool larger, bool equal,
                        bool integer) {
  Digits digits(pool);
  const ExprId tail = integer ? ExprPool::kEmpty : digits.any_fraction();
  const ExprId other_whole = pool.concat(digits.whole_beyond(limit.whole, larger), tail);
  ExprId same_whole = ExprPool::kNothing;
  if (!integer) {
    same_whole = digits.fraction_beyond(limit.fraction, larger, equal);
  } else if (larger ? limit.fraction.empty() && equal : !limit.fraction.empty() || equal) {
    same_whole = ExprPool::kEmpty;
  }
  return pool.alt(other_whole, pool.concat(digits.whole_equal(limit.whole), same_whole));
}

ExprId all_magnitudes(ExprPool& pool, bool integer) {
  Digits digits(pool);
  return pool.concat(digits.whole(), integer ? ExprPool::kEmpty : digits.any_fraction());
}

// Numbers at or above (below) a limit. "-0" counts as 0.
ExprId one_sided(ExprPool& pool, const Decimal& limit, bool above, bool exclusive, bool integer) {
  const ExprId minus = pool.literal("-");
  const ExprId all = all_magnitudes(pool, integer);
  const bool towards_zero = limit.negative ? above : !above;
  const ExprId beyond = magnitude_beyond(pool, limit, !towards_zero, !exclusive, integer);
  const ExprId limit_side = limit.negative ? pool.concat(minus, beyond) : beyond;
  if (limit.negative == above) {  // the other sign lies wholly inside
    const ExprId other = limit.negative ? all : pool.concat(minus, all);
    ExprId result = pool.alt(limit_side, other);
    if (limit.zero() && exclusive && !limit.negative) {
      result = pool.both(
          result, pool.negate(pool.concat(pool.optional(minus),
                                          magnitude_beyond(pool, limit, false, true, integer))));
    }
    return result;
  }
  return limit_side;
}

std::string strip(std::string text, bool leading) {
  if (leading) {
    text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  } else {
    text.resize(text.find_last_not_of('0') + 1);
  }
  return text;
}

// From [-]digits[.digits][e[+-]digits].
Decimal parse_decimal(std::string_view text) {
  Decimal result;
  if (text.starts_with('-')) {
    result.negative = true;
    text.remove_prefix(1);
  }
  const size_t e = text.find_first_of("eE");
  const int exponent = e == std::string_view::npos ? 0 : std::stoi(std::string(text.substr(e + 1)));
  const std::string_view mantissa = text.substr(0, e);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  auto at = static_cast<int64_t>(point) + exponent;
  digits += mantissa.substr(std::min(point + 1, mantissa.size()));
  if (at < 0) {
    digits.insert(0, static_cast<size_t>(-at), '0');
    at = 0;
  }
  if (at > static_cast<int64_t>(digits.size())) {
    digits.append(static_cast<size_t>(at) - digits.size(), '0');
  }
  result.whole = strip(digits.substr(0, static_cast<size_t>(at)), true);
  result.fraction = strip(digits.substr(static_cast<size_t>(at)), false);
  if (result.zero()) result.negative = false;
  return result;
}

}  // namespace

Decimal Decimal::of(const json::Value& number) {
  return parse_decimal(number.is_double() ? json::python_float(number.get_double())
                                          : json::serialize(number));
}

std::string Decimal::text() const {
  return fmt::format("{}{}{}{}", negative ? "-" : "", whole.empty() ? "0" : whole,
                     fraction.empty() ? "" : ".", fraction);
}

ExprId limited_number(ExprPool& pool, const NumberLimits& limits, bool integer) {
  std::vector<ExprId> parts;
  if (limits.min) {
    parts.push_back(one_sided(pool, *limits.min, true, limits.min_exclusive, integer));
  }
  if (limits.max) {
    parts.push_back(one_sided(pool, *limits.max, false, limits.max_exclusive, integer));
  }
  return pool.both(parts);
}

// Machines whose states are remainders: reading a digit takes r to (10 r + digit) mod divisor.
ExprId integer_multiple(ExprPool& pool, int64_t divisor) {
  std::vector<uint32_t> rules(static_cast<size_t>(divisor));
  for (size_t r = 0; r < rules.size(); ++r) rules[r] = pool.new_regular_rule(r == 0);
  const auto step = [&](int64_t remainder, char first) {
    std::vector<ExprId> choices;
    for (char c = first; c <= '9'; ++c) {
      const auto next = static_cast<size_t>((remainder * 10 + (c - '0')) % divisor);
      choices.push_back(
          pool.concat(pool.bytes(ByteSet::of(static_cast<uint8_t>(c))), pool.call(rules[next])));
    }
    return choices;
  };
  for (size_t r = 0; r < rules.size(); ++r) {
    std::vector<ExprId> choices = step(static_cast<int64_t>(r), '0');
    if (r == 0) choices.push_back(ExprPool::kEmpty);
    pool.define(rules[r], pool.alt(choices));
  }
  std::vector<ExprId> choices = step(0, '1');
  choices.push_back(pool.literal("0"));
  return pool.concat(pool.optional(pool.literal("-")), pool.alt(choices));
}

// Digits behind the point are read in layers, one a place; those that are left out are zeros.
ExprId decimal_multiple(ExprPool& pool, int64_t divisor, int32_t places) {
  const auto size = static_cast<size_t>(divisor);
  // What may follow when `left` of the places are not read yet, by remainder.
  std::vector<ExprId> after;
  int64_t scale = 1;  // 10^left
  for (int32_t left = 0; left < places; ++left, scale *= 10) {
    std::vector<ExprId> here;
    for (int64_t r = 0; r < divisor; ++r) {
      std::vector<ExprId> choices;
      for (int digit = 0; digit <= 9 && left > 0; ++digit) {
        const auto next = static_cast<size_t>((r * 10 + digit) % divisor);
        const auto byte = static_cast<uint8_t>('0' + digit);
        choices.push_back(pool.concat(pool.bytes(ByteSet::of(byte)), after[next]));
      }
      if (r * scale % divisor == 0) choices.push_back(ExprPool::kEmpty);
      here.push_back(pool.alt(choices));
    }
    after = std::move(here);
  }
  std::vector<uint32_t> rules;  // before the point
  for (int64_t r = 0; r < divisor; ++r) {
    rules.push_back(pool.new_regular_rule(r * scale % divisor == 0));
  }
  const auto digits = [&](int64_t r, int first, const auto& follow) {
    std::vector<ExprId> choices;
    for (int digit = first; digit <= 9; ++digit) {
      const auto byte = static_cast<uint8_t>('0' + digit);
      const auto next = static_cast<size_t>((r * 10 + digit) % divisor);
      choices.push_back(pool.concat(pool.bytes(ByteSet::of(byte)), follow(next)));
    }
    return pool.alt(choices);
  };
  const auto fraction = [&](size_t next) { return after[next]; };
  const auto whole = [&](size_t next) { return pool.call(rules[next]); };
  std::vector<ExprId> points;
  for (size_t r = 0; r < size; ++r) {
    const auto remainder = static_cast<int64_t>(r);
    points.push_back(pool.concat(pool.literal("."), digits(remainder, 0, fraction)));
    std::vector<ExprId> choices = {digits(remainder, 0, whole), points[r]};
    if (remainder * scale % divisor == 0) choices.push_back(ExprPool::kEmpty);
    pool.define(rules[r], pool.alt(choices));
  }
  const ExprId zero = pool.concat(pool.literal("0"), pool.optional(points[0]));
  return pool.concat(pool.optional(pool.literal("-")), pool.alt(zero, digits(0, 1, whole)));
}

ExprId number_with_places(ExprPool& pool, int32_t places) {
  Digits digits(pool);
  const ExprId fraction =
      places == 0 ? ExprPool::kEmpty
                  : pool.optional(pool.concat(pool.literal("."), digits.any(1, places)));
  return pool.concat(pool.optional(pool.literal("-")), pool.concat(digits.whole(), fraction));
}

}  // namespace deltaserve
