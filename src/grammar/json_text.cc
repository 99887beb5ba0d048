// RFC 8259 as expressions.
#include "grammar/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace deltaserve {
namespace {

// A line break and ten levels of two spaces; models indent no deeper in practice.
constexpr int32_t kMaxSpace = 21;

constexpr std::string_view kShortEscapes = "\b\f\n\r\t\"\\";
constexpr std::string_view kShortNames = "bfnrt\"\\";

CharSet plain_characters() {
  return ~CharSet({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
}

ExprId hex_digit(ExprPool& pool) {
  return pool.bytes(ByteSet::range('0', '9') | ByteSet::range('a', 'f') | ByteSet::range('A', 'F'));
}

ByteSet one_of(std::string_view bytes) {
  ByteSet set;
  for (const char c : bytes) set = set | ByteSet::of(static_cast<uint8_t>(c));
  return set;
}

// \uXXXX, a surrogate only as half of a pair.
ExprId unicode_escape(ExprPool& pool) {
  const ExprId hex = hex_digit(pool);
  const ExprId d = pool.bytes(one_of("dD"));
  const auto tail = [&](ExprId head, int32_t count) {
    return pool.concat(head, pool.repeat(hex, count, count));
  };
  const ExprId not_d = pool.bytes(ByteSet::range('0', '9') | one_of("abcefABCEF"));
  const ExprId plain =
      pool.alt(tail(not_d, 3), pool.concat(d, tail(pool.bytes(ByteSet::range('0', '7')), 2)));
  const ExprId high = pool.concat(d, tail(pool.bytes(one_of("89abAB")), 2));
  const ExprId low = pool.concat(d, tail(pool.bytes(one_of("cdefCDEF")), 2));
  const ExprId pair = pool.concat(high, pool.concat(pool.literal("\\u"), low));
  return pool.concat(pool.literal("u"), pool.alt(plain, pair));
}

}  // namespace

JsonText::JsonText(ExprPool& pool) : pool_(&pool), plain_(plain_characters()) {
  space_ = pool.repeat(pool.bytes(one_of(" \t\n\r")), 0, kMaxSpace);
  comma_ = pool.concat(space_, pool.concat(pool.literal(","), space_));
  colon_ = pool.concat(space_, pool.concat(pool.literal(":"), space_));
  const ExprId escape = pool.concat(
      pool.literal("\\"), pool.alt(pool.bytes(one_of("\"\\/bfnrt")), unicode_escape(pool)));
  any_character_ = pool.alt(utf8_character(pool, plain_), escape);
}

ExprId JsonText::quoted(ExprId characters) {
  const ExprId quote = pool_->literal("\"");
  return pool_->concat(quote, pool_->concat(characters, quote));
}

ExprId JsonText::character(const CharSet& set) {
  std::vector<ExprId> choices = {utf8_character(*pool_, set & plain_)};
  for (size_t i = 0; i < kShortEscapes.size(); ++i) {
    if (set.contains(static_cast<char32_t>(kShortEscapes[i]))) {
      const std::string escaped = {'\\', kShortNames[i]};
      choices.push_back(pool_->literal(escaped));
    }
  }
  for (char32_t c = 0; c < 0x20; ++c) {
    if (set.contains(c) && kShortEscapes.find(static_cast<char>(c)) == std::string_view::npos) {
      choices.push_back(pool_->literal(fmt::format("\\u{:04x}", static_cast<uint32_t>(c))));
    }
  }
  return pool_->alt(choices);
}

ExprId JsonText::string() {
  return quoted(pool_->repeat(any_character_, 0, ExprPool::kUnbounded));
}

ExprId JsonText::integer() {
  const ExprId digits = pool_->repeat(pool_->bytes(ByteSet::range('0', '9')), 0, -1);
  const ExprId whole = pool_->alt(pool_->literal("0"),
                                  pool_->concat(pool_->bytes(ByteSet::range('1', '9')), digits));
  return pool_->concat(pool_->optional(pool_->literal("-")), whole);
}

ExprId JsonText::number() {
  const ExprId digits = pool_->repeat(pool_->bytes(ByteSet::range('0', '9')), 1, -1);
  const ExprId fraction = pool_->optional(pool_->concat(pool_->literal("."), digits));
  const ExprId sign = pool_->optional(pool_->bytes(one_of("+-")));
  const ExprId exponent =
      pool_->optional(pool_->concat(pool_->bytes(one_of("eE")), pool_->concat(sign, digits)));
  return pool_->concat(integer(), pool_->concat(fraction, exponent));
}

ExprId JsonText::member(ExprId key, ExprId value) {
  return pool_->concat(key, pool_->concat(colon_, value));
}

ExprId JsonText::bracketed(char open, ExprId items, char close) {
  const ExprId end = pool_->literal(std::string_view(&close, 1));
  const ExprId filled = pool_->concat(items, pool_->concat(space_, end));
  return pool_->concat(pool_->literal(std::string_view(&open, 1)), pool_->concat(space_, filled));
}

ExprId JsonText::list(ExprId item, int32_t min, int32_t max) {
  if (max == 0) {
    return ExprPool::kEmpty;
  }
  const int32_t more = max == ExprPool::kUnbounded ? max : max - 1;
  const ExprId rest = pool_->repeat(pool_->concat(comma_, item), std::max(min - 1, 0), more);
  const ExprId filled = pool_->concat(item, rest);
  return min == 0 ? pool_->optional(filled) : filled;
}

ExprId JsonText::object() {
  const ExprId any_member = member(string(), value());
  return bracketed('{', list(any_member, 0, ExprPool::kUnbounded), '}');
}

ExprId JsonText::value() {
  if (value_rule_) {
    return pool_->call(*value_rule_);
  }
  value_rule_ = pool_->new_rule();
  const ExprId any = pool_->call(*value_rule_);
  const ExprId array = bracketed('[', list(any, 0, ExprPool::kUnbounded), ']');
  const ExprId words =
      pool_->alt({pool_->literal("true"), pool_->literal("false"), pool_->literal("null")});
  pool_->define(*value_rule_, pool_->alt({string(), number(), words, array, object()}));
  return any;
}

}  // namespace deltaserve
