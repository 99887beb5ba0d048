// Strings and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "grammar/json_number.h"
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "grammar/string_format.h"

namespace deltaserve {
namespace {

// The digits of a positive decimal as one number, if that times the places is small enough.
std::optional<int64_t> divisor_of(const Decimal& decimal) {
  const std::string digits = decimal.whole + decimal.fraction;
  if (decimal.negative || decimal.zero() || decimal.fraction.empty() || digits.size() > 6) {
    return std::nullopt;
  }
  const int64_t divisor = std::stoll(digits);
  const auto places = static_cast<int64_t>(decimal.fraction.size());
  return divisor * places <= kMaxDivisor ? std::optional(divisor) : std::nullopt;
}

}  // namespace

ExprId SchemaCompiler::string_content(const Conjunction& all, const ArgumentText* text) {
  std::vector<ExprId> parts;
  RegexOptions search = {[this](const CharSet& set) { return json_.character(set); }, true};
  if (text != nullptr) search.character = text->character;
  const RegexOptions whole = {search.character, false};
  const auto add = [&](const Part& part, std::string_view pattern, const RegexOptions& options) {
    const Result<ExprId> compiled = compile_regex(pool_, pattern, options);
    if (compiled) {
      parts.push_back(*compiled);
    } else {
      refuse(part.path, compiled.error().message);
    }
  };
  for (const Part& part : all.parts) {
    if (const json::Value* pattern = find(part, "pattern")) {
      add(part, std::string_view(pattern->get_string()), search);
    }
    if (const json::Value* format = find(part, "format")) {
      const std::string_view name(format->get_string());
      if (const auto pattern = format_pattern(name)) {
        add(part, *pattern, whole);
      } else {
        refuse(part.path, fmt::format("the format '{}' is not supported.", name));
      }
    }
  }
  const int32_t min = largest(all, "minLength", 0);
  const int32_t max = smallest(all, "maxLength", ExprPool::kUnbounded);
  if (error_ || (max != ExprPool::kUnbounded && max < min)) {
    return ExprPool::kNothing;
  }
  const bool limited = min > 0 || max != ExprPool::kUnbounded;
  if (limited || (text == nullptr && parts.empty())) {
    const ExprId any = text == nullptr ? json_.any_character() : text->character(CharSet::all());
    parts.push_back(pool_.repeat(any, min, max));
  }
  if (text != nullptr) parts.push_back(text->string);
  return parts.size() == 1 ? parts.front() : pool_.both(parts);
}

ExprId SchemaCompiler::compile_number(const Conjunction& all, bool integer) {
  std::vector<ExprId> parts;
  for (const Part& part : all.parts) {
    const auto limit = [&](std::string_view key, bool is_min, bool exclusive) {
      const json::Value* value = find(part, key);
      if (value == nullptr) return;
      NumberLimits limits;
      (is_min ? limits.min : limits.max) = Decimal::of(*value);
      limits.min_exclusive = limits.max_exclusive = exclusive;
      parts.push_back(limited_number(pool_, limits, integer));
    };
    limit("minimum", true, false);
    limit("exclusiveMinimum", true, true);
    limit("maximum", false, false);
    limit("exclusiveMaximum", false, true);
    if (find(part, "multipleOf") != nullptr) {
      const std::optional<ExprId> multiple = multiple_of(part, integer);
      if (!multiple) return ExprPool::kNothing;
      parts.push_back(*multiple);
    }
  }
  if (parts.empty()) {
    return integer ? json_.integer() : json_.number();
  }
  return parts.size() == 1 ? parts.front() : pool_.both(parts);
}

std::optional<ExprId> SchemaCompiler::multiple_of(const Part& part, bool integer) {
  const json::Value& value = *find(part, "multipleOf");
  const double number = value.to_number<double>();
  if (number > 0 && number <= static_cast<double>(kMaxDivisor) && number == std::floor(number)) {
    return integer_multiple(pool_, static_cast<int64_t>(number));
  }
  const Decimal decimal = Decimal::of(value);
  const bool power_of_ten =
      !decimal.negative && decimal.whole.empty() &&
      decimal.fraction.find_first_not_of('0') + 1 == decimal.fraction.size() &&
      decimal.fraction.ends_with('1');
  if (power_of_ten) {
    return number_with_places(pool_, integer ? 0 : static_cast<int32_t>(decimal.fraction.size()));
  }
  if (const std::optional<int64_t> divisor = divisor_of(decimal)) {
    const auto places = static_cast<int32_t>(decimal.fraction.size());
    const ExprId multiples = decimal_multiple(pool_, *divisor, places);
    return integer ? pool_.both(json_.integer(), multiples) : multiples;
  }
  refuse(part.path, fmt::format("'multipleOf' must be a whole number up to {0}, a power of ten "
                                "below 1, or have few digits: they and their number behind the "
                                "point may make up to {0} states.",
                                kMaxDivisor));
  return std::nullopt;
}

}  // namespace deltaserve
