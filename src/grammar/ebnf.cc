// One recursive descent parser for both notations; they differ in how a rule begins and in a few
// atoms.
#include "grammar/ebnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/regex.h"

namespace deltaserve {
namespace {

constexpr int kMaxDepth = 200;       // of groups: the parser is recursive
constexpr size_t kMaxRules = 4'000;  // a derivative follows calls, one within the other

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class EbnfParser {
 public:
  EbnfParser(ExprPool& pool, std::string_view text)
      : pool_(pool), text_(text), lark_(text.find("::=") == std::string_view::npos) {}

  Result<ExprId> run() {
    skip_space(true);
    while (!done()) {
      rule();
      skip_space(true);
    }
    for (const auto& [name, rule] : rules_) {
      if (!rule.defined) refuse(fmt::format("the rule '{}' is not defined", name));
    }
    if (rules_.empty()) refuse("there is no rule");
    if (error_) {
      return std::unexpected(*error_);
    }
    for (const std::string_view name : {std::string_view("root"), std::string_view("start")}) {
      if (const auto found = rules_.find(name); found != rules_.end()) {
        return pool_.call(found->second.id);
      }
    }
    return pool_.call(rules_.find(first_)->second.id);
  }

 private:
  struct Rule {
    uint32_t id = 0;
    bool defined = false;
  };

  bool done() const { return at_ >= text_.size() || error_.has_value(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() && !error_ ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view token) {
    if (done() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  ExprId refuse(std::string_view what) {
    if (!error_) {
      const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
      error_ = Error{ErrorCode::kInvalidArgument, fmt::format("Grammar, line {}: {}.", line, what),
                     "", ""};
    }
    at_ = text_.size();
    return ExprPool::kEmpty;
  }

  // White space and comments; line ends only if `lines`.
  void skip_space(bool lines) {
    while (!done()) {
      const char c = peek();
      if (c == '#' || (lark_ && c == '/' && peek(1) == '/')) {
        while (!done() && peek() != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view name() {
    const size_t begin = at_;
    while (!done() && is_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Rule& rule_named(std::string_view name) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    if (rules_.size() > kMaxRules) refuse("there are too many rules");
    return rules_.emplace(std::string(name), Rule{pool_.new_rule(), false}).first->second;
  }

  void rule() {
    if (peek() == '%') {
      refuse("directives such as %import and %ignore are not supported");
      return;
    }
    if (lark_ && (peek() == '?' || peek() == '!')) ++at_;  // about trees, which nobody builds here
    const std::string_view rule_name = name();
    if (rule_name.empty()) {
      refuse("a rule name is expected");
      return;
    }
    if (first_.empty()) first_ = rule_name;
    skip_space(false);
    if (lark_ && peek() == '.') {  // a terminal's priority
      ++at_;
      name();
      skip_space(false);
    }
    if (!take(lark_ ? ":" : "::=")) {
      refuse(fmt::format("'{}' is expected after '{}'", lark_ ? ":" : "::=", rule_name));
      return;
    }
    if (rule_named(rule_name).defined) {
      refuse(fmt::format("the rule '{}' is defined twice", rule_name));
      return;
    }
    rule_named(rule_name).defined = true;
    const ExprId body = alternatives();
    pool_.define(rule_named(rule_name).id, body);
  }

  // Whether a rule begins here, after a line end.
  bool at_rule() {
    const size_t before = at_;
    if (lark_ && (peek() == '?' || peek() == '!' || peek() == '%')) return true;
    const bool named = !name().empty();
    if (lark_ && take(".")) name();
    skip_space(false);
    const bool result = named && (lark_ ? peek() == ':' : text_.substr(at_).starts_with("::="));
    at_ = before;
    return result;
  }

  ExprId alternatives() {
    std::vector<ExprId> choices;
    do {
      choices.push_back(sequence());
    } while (take("|"));
    return pool_.alt(choices);
  }

  // Ends before '|', a closing bracket, or the next rule. A sequence may go on in the next line.
  ExprId sequence() {
    std::vector<ExprId> parts;
    while (true) {
      skip_space(false);
      if (peek() == '\n' || peek() == '\r') {
        skip_space(true);
        if (done() || at_rule()) break;
      }
      if (done() || peek() == '|' || peek() == ')' || (lark_ && peek() == ']')) break;
      if (lark_ && take("->")) {  // an alias of the tree
        skip_space(false);
        name();
        continue;
      }
      parts.push_back(quantified());
    }
    return pool_.concat(parts);
  }

  ExprId quantified() {
    ExprId item = atom();
    for (int count = 0; !done(); ++count) {
      if (count > kMaxDepth) return refuse("too many quantifiers in a row");
      if (take("*")) {
        item = pool_.repeat(item, 0, ExprPool::kUnbounded);
      } else if (take("+")) {
        item = pool_.repeat(item, 1, ExprPool::kUnbounded);
      } else if (take("?")) {
        item = pool_.optional(item);
      } else if (!lark_ && take("{")) {
        item = counted(item, ",", "}");
      } else if (lark_ && take("~")) {
        skip_space(false);
        item = counted(item, "..", "");
      } else {
        break;
      }
    }
    return item;
  }

  std::optional<int32_t> number() {
    skip_space(false);
    int32_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, failed] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error_ || failed != std::errc() || value < 0) return std::nullopt;
    at_ += static_cast<size_t>(end - begin);
    skip_space(false);
    return value;
  }

  ExprId counted(ExprId item, std::string_view between, std::string_view close) {
    const std::optional<int32_t> min = number();
    if (!min) return refuse("a number is expected");
    int32_t max = *min;
    if (take(between)) max = number().value_or(ExprPool::kUnbounded);
    if (!close.empty() && !take(close)) return refuse("'}' is expected");
    if (max != ExprPool::kUnbounded && max < *min) return refuse("a count with max below min");
    return pool_.repeat(item, *min, max);
  }

  ExprId atom() {
    const char c = peek();
    if (c == '"' || c == '\'') return quoted(c);
    if (c == '/' && lark_) return slashed();
    if (c == '(') return group(')', false);
    if (c == '[' && lark_) return group(']', true);
    if (c == '[') return char_class();
    if (c == '.' && !lark_) {
      ++at_;
      return utf8_character(pool_, CharSet::all());
    }
    const std::string_view called = name();
    if (called.empty()) return refuse(fmt::format("'{}' is not understood", c));
    return pool_.call(rule_named(called).id);
  }

  ExprId group(char close, bool optional) {
    ++at_;
    if (++depth_ > kMaxDepth) return refuse("groups are nested too deeply");
    const ExprId inner = alternatives();
    --depth_;
    skip_space(true);
    if (!take(std::string_view(&close, 1))) return refuse(fmt::format("'{}' is expected", close));
    return optional ? pool_.optional(inner) : inner;
  }

  // The text between two delimiters, escapes left as they are.
  std::optional<std::string_view> delimited(char close) {
    const size_t begin = ++at_;
    while (!done() && peek() != close && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    if (done() || peek() != close) {
      refuse(fmt::format("'{}' is expected", close));
      return std::nullopt;
    }
    return text_.substr(begin, at_++ - begin);
  }

  // A string: its escapes are those of a regular expression, everything else means itself.
  ExprId quoted(char quote) {
    const auto inner = delimited(quote);
    if (!inner) return ExprPool::kEmpty;
    std::string pattern;
    for (size_t i = 0; i < inner->size(); ++i) {
      const char c = (*inner)[i];
      if (c == '\\' && i + 1 < inner->size()) {
        pattern += c;
        pattern += (*inner)[++i];
      } else {
        if (std::string_view("^$.*+?()[]{}|").find(c) != std::string_view::npos) pattern += '\\';
        pattern += c;
      }
    }
    const bool ignore_case = lark_ && peek() == 'i';
    if (ignore_case) return refuse("strings that ignore case are not supported");
    if (lark_ && take("..")) return range(*inner);
    return regex(pattern);
  }

  ExprId range(std::string_view low) {
    const char quote = peek();
    if (quote != '"' && quote != '\'') return refuse("a second character is expected");
    const auto high = delimited(quote);
    if (!high || low.size() != 1 || high->size() != 1) return refuse("a range of two characters");
    const auto first = static_cast<uint8_t>(low.front());
    const auto last = static_cast<uint8_t>(high->front());
    if (first > last) return refuse("a range that runs backwards");
    return pool_.bytes(ByteSet::range(first, last));
  }

  ExprId slashed() {
    const auto inner = delimited('/');
    if (!inner) return ExprPool::kEmpty;
    const size_t flags = at_;
    while (!done() && peek() >= 'a' && peek() <= 'z') ++at_;
    if (at_ != flags) return refuse("flags of regular expressions are not supported");
    std::string pattern;  // "\/" is only a slash
    for (size_t i = 0; i < inner->size(); ++i) {
      if (inner->substr(i).starts_with("\\/")) continue;
      pattern += (*inner)[i];
      if ((*inner)[i] == '\\' && i + 1 < inner->size()) pattern += (*inner)[++i];
    }
    return regex(pattern);
  }

  ExprId char_class() {
    const size_t begin = at_;
    const auto inner = delimited(']');
    return inner ? regex(text_.substr(begin, at_ - begin)) : ExprPool::kEmpty;
  }

  ExprId regex(std::string_view pattern) {
    const auto character = [this](const CharSet& set) { return utf8_character(pool_, set); };
    const Result<ExprId> compiled = compile_regex(pool_, pattern, {character, false});
    return compiled ? *compiled : refuse(compiled.error().message);
  }

  ExprPool& pool_;
  std::string_view text_;
  bool lark_;
  size_t at_ = 0;
  int depth_ = 0;
  std::map<std::string, Rule, std::less<>> rules_;
  std::string first_;
  std::optional<Error> error_;
};

}  // namespace

Result<ExprId> compile_ebnf(ExprPool& pool, std::string_view text) {
  return EbnfParser(pool, text).run();
}

}  // namespace deltaserve
