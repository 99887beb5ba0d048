// Strings, ranges, classes and regular expressions of a grammar of rules.
#include "grammar/ebnf_terminals.h"

#include <string>

#include "grammar/char_set.h"
#include "grammar/regex.h"
#include "grammar/regex_classes.h"

namespace deltaserve {

// Escapes are those of a regular expression's characters, everything else means itself.
ExprId EbnfTerminals::quoted(char quote) {
  const auto inner = in_.delimited(quote);
  if (!inner) return ExprPool::kEmpty;
  if (lark_ && in_.starts_with("..")) return range(*inner);
  const bool either_case = lark_ && in_.take("i");
  ExprId text = ExprPool::kEmpty;
  for (RegexText in(*inner); !in.at_end();) {
    const std::optional<char32_t> c = character(in);
    if (!c) return ExprPool::kEmpty;
    const CharSet set = either_case ? either_case_of(*c) : CharSet::of(*c);
    text = pool_.concat(text, utf8_character(pool_, set));
  }
  return text;
}

std::optional<char32_t> EbnfTerminals::character(RegexText& in) {
  if (in.peek() != '\\') return in.next_char();
  const CharSet set = in.escape(false);
  if (in.error()) {
    refuse(in.error()->message);
  } else if (const auto c = set.only()) {
    return c;
  } else {
    refuse("a class of characters in a string");
  }
  return std::nullopt;
}

ExprId EbnfTerminals::range(std::string_view low) {
  in_.take("..");
  const char quote = in_.peek();
  if (quote != '"' && quote != '\'') return refuse("a second character is expected");
  const auto high = in_.delimited(quote);
  if (!high) return ExprPool::kEmpty;
  RegexText from(low);
  RegexText to(*high);
  if (from.at_end() || to.at_end()) return refuse("a range of two characters");
  const auto first = character(from);
  const auto last = character(to);
  if (!first || !last) return ExprPool::kEmpty;
  if (!from.at_end() || !to.at_end()) return refuse("a range of two characters");
  if (*first > *last) return refuse("a range that runs backwards");
  return utf8_character(pool_, CharSet({{*first, *last}}));
}

ExprId EbnfTerminals::slashed() {
  const auto inner = in_.delimited('/');
  if (!inner) return ExprPool::kEmpty;
  const size_t flags = in_.place();
  while (!in_.done() && in_.peek() >= 'a' && in_.peek() <= 'z') in_.skip(1);
  if (in_.place() != flags) return refuse("flags of regular expressions are not supported");
  std::string pattern;  // "\/" is only a slash
  for (size_t i = 0; i < inner->size(); ++i) {
    if (inner->substr(i).starts_with("\\/")) continue;
    pattern += (*inner)[i];
    if ((*inner)[i] == '\\' && i + 1 < inner->size()) pattern += (*inner)[++i];
  }
  return regex(pattern);
}

ExprId EbnfTerminals::char_class() {
  const size_t begin = in_.place();
  const auto inner = in_.delimited(']');
  return inner ? regex(in_.since(begin)) : ExprPool::kEmpty;
}

ExprId EbnfTerminals::regex(std::string_view pattern) {
  const auto character = [this](const CharSet& set) { return utf8_character(pool_, set); };
  const Result<ExprId> compiled = compile_regex(pool_, pattern, {character, false});
  return compiled ? *compiled : refuse(compiled.error().message);
}

ExprId EbnfTerminals::refuse(std::string_view what) {
  in_.refuse(what);
  return ExprPool::kEmpty;
}

}  // namespace deltaserve
