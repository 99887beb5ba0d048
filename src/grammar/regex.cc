// A recursive descent parser that builds the expression as it reads. Anchors at the ends of the
// whole pattern or of its alternatives only decide whether other text may stand around it; anchors
// deeper inside become two marker bytes around the text, which are taken off again at the end.
#include "grammar/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <vector>

#include "grammar/regex_classes.h"
#include "grammar/regex_text.h"

namespace deltaserve {
namespace {

constexpr uint8_t kBegin = 0xFE;  // markers: see byte_set.h
constexpr uint8_t kEnd = 0xFF;
constexpr size_t kMaxPattern = 4096;
constexpr int kMaxDepth = 200;  // of groups: the parser is recursive

class RegexParser {
 public:
  RegexParser(ExprPool& pool, std::string_view pattern, const RegexOptions& options)
      : pool_(pool), text_(pattern), options_(options) {}

  Result<ExprId> run() {
    std::vector<Branch> branches;
    do {
      branches.push_back(top_branch());
    } while (text_.take("|"));
    if (!text_.at_end()) {
      refuse("unmatched ')'");
    }
    if (text_.error()) {
      return std::unexpected(*text_.error());
    }
    return finish(branches);
  }

 private:
  struct Branch {
    bool begin = false;  // anchored
    bool end = false;
    ExprId expr = ExprPool::kEmpty;
  };

  // Anchors at the very ends of a branch are taken off here.
  Branch top_branch() {
    Branch branch;
    while (text_.take("^") || text_.take("\\A")) branch.begin = true;
    std::vector<ExprId> parts;
    while (!text_.done() && text_.peek() != '|' && text_.peek() != ')') {
      if (at_end_anchor()) {
        text_.skip(text_.peek() == '$' ? 1 : 2);
        branch.end = true;
        continue;
      }
      if (branch.end) {  // it was no end after all
        nested_anchor_ = true;
        parts.push_back(marker(kEnd));
        branch.end = false;
      }
      parts.push_back(quantified());
    }
    branch.expr = pool_.concat(parts);
    return branch;
  }

  ExprId refuse(std::string_view what) {
    text_.refuse(what);
    return ExprPool::kEmpty;
  }

  bool at_end_anchor() const {
    return text_.peek() == '$' || text_.rest().starts_with("\\Z") ||
           text_.rest().starts_with("\\z");
  }

  ExprId marker(uint8_t byte) { return pool_.bytes(ByteSet::of(byte)); }

  Result<ExprId> finish(const std::vector<Branch>& branches) {
    const ExprId any_char = options_.character(CharSet::all());
    ExprId around = ExprPool::kEmpty;
    if (options_.search) {
      around = nested_anchor_ ? pool_.alt({any_char, marker(kBegin), marker(kEnd)}) : any_char;
      around = pool_.repeat(around, 0, ExprPool::kUnbounded);
    }
    const auto border = [&](bool anchored, uint8_t byte) {
      if (!nested_anchor_) return anchored ? ExprPool::kEmpty : around;
      if (anchored) return marker(byte);
      return options_.search ? around : pool_.optional(marker(byte));
    };
    std::vector<ExprId> choices;
    for (const Branch& branch : branches) {
      const ExprId tail = pool_.concat(branch.expr, border(branch.end, kEnd));
      choices.push_back(pool_.concat(border(branch.begin, kBegin), tail));
    }
    const ExprId all = pool_.alt(choices);
    if (!nested_anchor_) {
      return all;
    }
    const std::vector<ExprId> begun = behind(all, {kBegin});
    const ExprId text = pool_.ending_before(pool_.alt(begun), kEnd);
    // Both ends of the empty text are one place, where anchors may come in any order.
    const bool empty = std::ranges::any_of(behind(all, {kBegin, kEnd}),
                                           [this](ExprId rest) { return pool_.nullable(rest); });
    const ExprId result = empty ? pool_.optional(text) : text;
    return pool_.live(result) ? result : ExprPool::kNothing;
  }

  // What follows any number of markers: anchors may stand behind each other, as in "^(^a|b)".
  std::vector<ExprId> behind(ExprId all, std::initializer_list<uint8_t> markers) {
    std::vector<ExprId> found = {all};
    for (size_t i = 0; i < found.size(); ++i) {
      for (const uint8_t marker : markers) {
        const ExprId next = pool_.derive(found[i], marker);
        if (std::ranges::find(found, next) == found.end()) found.push_back(next);
      }
    }
    return found;
  }

  ExprId alternatives() {
    std::vector<ExprId> choices;
    do {
      std::vector<ExprId> parts;
      while (!text_.done() && text_.peek() != '|' && text_.peek() != ')')
        parts.push_back(quantified());
      choices.push_back(pool_.concat(parts));
    } while (text_.take("|"));
    return pool_.alt(choices);
  }

  ExprId quantified() {
    ExprId item = atom();
    for (int count = 0; !text_.done(); ++count) {
      if (count > kMaxDepth) return refuse("too many quantifiers in a row");
      int32_t min = 0;
      int32_t max = ExprPool::kUnbounded;
      if (text_.take("*")) {
      } else if (text_.take("+")) {
        min = 1;
      } else if (text_.take("?")) {
        max = 1;
      } else if (text_.peek() != '{' || !counts(min, max)) {
        return item;
      }
      if (text_.take("+")) return refuse("a possessive quantifier");
      text_.take("?");  // lazy or greedy: the same texts
      item = max == 1 && min == 0 ? pool_.optional(item) : pool_.repeat(item, min, max);
    }
    return item;
  }

  // {n}, {n,}, {n,m}, {,m}; anything else is a brace that means itself.
  bool counts(int32_t& min, int32_t& max) {
    const std::string_view rest = text_.rest();
    const size_t close = rest.find('}');
    if (close == std::string_view::npos || close < 2) return false;
    const std::string_view inner = rest.substr(1, close - 1);
    const size_t comma = inner.find(',');
    const auto number = [&](std::string_view text, int32_t& value) {
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
      return failed == std::errc() && end == text.data() + text.size() && value >= 0;
    };
    min = 0;
    if (comma != 0 && !number(inner.substr(0, comma), min)) return false;
    max = min;
    if (comma != std::string_view::npos) {
      max = ExprPool::kUnbounded;
      if (comma + 1 < inner.size() && !number(inner.substr(comma + 1), max)) return false;
    }
    text_.skip(close + 1);
    if (max != ExprPool::kUnbounded && max < min) refuse("a quantifier with max below min");
    return true;
  }

  ExprId atom() {
    const char c = text_.peek();
    switch (c) {
      case '(':
        return group();
      case '[':
        return character(text_.bracket());
      case '.':
        text_.skip(1);
        return character(regex_dot());
      case '^':
      case '$':
        text_.skip(1);
        nested_anchor_ = true;
        return marker(c == '^' ? kBegin : kEnd);
      case '*':
      case '+':
      case '?':
        return refuse("a quantifier without anything before it");
      case '\\':
        if (const bool begin = text_.take("\\A"); begin || at_end_anchor()) {
          if (!begin) text_.skip(2);
          nested_anchor_ = true;
          return marker(begin ? kBegin : kEnd);
        }
        return character(text_.escape(false));
      default:
        return character(CharSet::of(text_.next_char()));
    }
  }

  ExprId character(const CharSet& set) {
    if (text_.error()) return ExprPool::kEmpty;
    return options_.character(set);
  }

  ExprId group() {
    text_.skip(1);
    if (text_.take("?:")) {
    } else if (text_.take("?P<") || (text_.peek() == '?' && text_.rest().starts_with("?<") &&
                                     text_.rest().substr(0, 3) != "?<=" &&
                                     text_.rest().substr(0, 3) != "?<!" && text_.take("?<"))) {
      while (!text_.done() && text_.peek() != '>') text_.skip(1);
      if (!text_.take(">")) return refuse("a group name without '>'");
    } else if (text_.peek() == '?') {
      return refuse("look-around, flags and other '(?' groups are not supported;");
    }
    if (++depth_ > kMaxDepth) return refuse("groups are nested too deeply");
    const ExprId inner = alternatives();
    --depth_;
    if (!text_.take(")") && !text_.error()) return refuse("a group without ')'");
    return inner;
  }

  ExprPool& pool_;
  RegexText text_;
  const RegexOptions& options_;
  int depth_ = 0;
  bool nested_anchor_ = false;
};

}  // namespace

Result<ExprId> compile_regex(ExprPool& pool, std::string_view pattern,
                             const RegexOptions& options) {
  if (pattern.size() > kMaxPattern) {
    return invalid(fmt::format("A pattern may have at most {} bytes.", kMaxPattern));
  }
  return RegexParser(pool, pattern, options).run();
}

}  // namespace deltaserve
