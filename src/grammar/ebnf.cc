// One recursive descent parser for both notations, which differ in how a rule begins and in a few
// atoms.
#include "grammar/ebnf.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/char_set.h"
#include "grammar/ebnf_terminals.h"
#include "grammar/ebnf_text.h"
#include "grammar/lark_common.h"

namespace deltaserve {
namespace {

constexpr int kMaxDepth = 200;       // of groups: the parser is recursive
constexpr size_t kMaxRules = 4'000;  // a derivative follows calls, one within the other

class EbnfParser {
 public:
  EbnfParser(ExprPool& pool, std::string_view text)
      : pool_(pool), lark_(is_lark(text)), in_(text, lark_), terminals_(pool, in_, lark_) {
    if (lark_ && text.find("%ignore") != std::string_view::npos) ignored_rule_ = pool.new_rule();
  }

  Result<ExprId> run() {
    in_.skip_space(true);
    while (!in_.done()) {
      rule();
      in_.skip_space(true);
    }
    if (ignored_rule_) {
      pool_.define(*ignored_rule_, pool_.repeat(pool_.alt(ignored_), 0, ExprPool::kUnbounded));
    }
    for (const auto& [name, rule] : rules_) {
      if (!rule.defined) refuse(fmt::format("the rule '{}' is not defined", name));
    }
    if (rules_.empty()) refuse("there is no rule");
    if (in_.error()) {
      return std::unexpected(*in_.error());
    }
    auto root = rules_.find(first_);
    for (const std::string_view name : {std::string_view("start"), std::string_view("root")}) {
      if (const auto found = rules_.find(name); found != rules_.end()) root = found;
    }
    const ExprId whole = pool_.call(root->second.id);
    return ignored_rule_ ? pool_.concat(pool_.call(*ignored_rule_), whole) : whole;
  }

 private:
  struct Rule {
    uint32_t id = 0;
    bool defined = false;
  };

  // The first rule shows it.
  static bool is_lark(std::string_view text) {
    EbnfText in(text, true);
    in.skip_space(true);
    in.name();
    in.skip_space(false);
    return !in.starts_with("::=");
  }

  ExprId refuse(std::string_view what) {
    in_.refuse(what);
    return ExprPool::kEmpty;
  }

  Rule& rule_named(std::string_view name) {
    const auto found = rules_.find(name);
    if (found != rules_.end()) return found->second;
    if (rules_.size() > kMaxRules) refuse("there are too many rules");
    return rules_.emplace(std::string(name), Rule{pool_.new_rule(), false}).first->second;
  }

  void rule() {
    if (in_.peek() == '%') {
      directive();
      return;
    }
    if (lark_ && (in_.peek() == '?' || in_.peek() == '!'))
      in_.skip(1);  // about trees, which nobody builds here
    const std::string_view rule_name = in_.name();
    if (rule_name.empty()) {
      refuse("a rule name is expected");
      return;
    }
    if (first_.empty()) first_ = rule_name;
    in_.skip_space(false);
    if (lark_ && in_.peek() == '.') {  // a terminal's priority
      in_.skip(1);
      in_.name();
      in_.skip_space(false);
    }
    if (!in_.take(lark_ ? ":" : "::=")) {
      refuse(fmt::format("'{}' is expected after '{}'", lark_ ? ":" : "::=", rule_name));
      return;
    }
    if (rule_named(rule_name).defined) {
      refuse(fmt::format("the rule '{}' is defined twice", rule_name));
      return;
    }
    rule_named(rule_name).defined = true;
    in_terminal_ = is_terminal(rule_name);
    const ExprId body = alternatives();
    pool_.define(rule_named(rule_name).id, body);
  }

  // Lark's terminals have upper case names.
  static bool is_terminal(std::string_view name) {
    const size_t first = name.find_first_not_of('_');
    return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
  }

  void directive() {
    if (lark_ && in_.take("%ignore")) {
      in_.skip_space(false);
      in_terminal_ = true;
      ignored_.push_back(alternatives());
    } else if (lark_ && in_.take("%import")) {
      in_.skip_space(false);
      import();
    } else {
      refuse("of directives only %import common.NAME and %ignore are supported");
    }
  }

  // common.NAME, common.NAME -> ALIAS, or common (NAME, NAME).
  void import() {
    const std::string_view library = in_.name();
    if (library != "common") {
      refuse(fmt::format("%import from '{}': only the library 'common' is known", library));
      return;
    }
    if (in_.take(".")) {
      const std::string_view terminal = in_.name();
      in_.skip_space(false);
      std::string_view alias = terminal;
      if (in_.take("->")) {
        in_.skip_space(false);
        alias = in_.name();
      }
      define_common(terminal, alias);
      return;
    }
    in_.skip_space(false);
    if (!in_.take("(")) refuse("a name of the library 'common' is expected");
    while (!in_.done() && !in_.take(")")) {
      in_.skip_space(true);
      const std::string_view terminal = in_.name();
      define_common(terminal, terminal);
      in_.skip_space(true);
      in_.take(",");
      in_.skip_space(true);
    }
  }

  void define_common(std::string_view terminal, std::string_view alias) {
    const auto pattern = lark_common_pattern(terminal);
    if (!pattern) {
      refuse(fmt::format("the library 'common' has no '{}'", terminal));
    } else if (alias.empty() || rule_named(alias).defined) {
      refuse(fmt::format("the rule '{}' is defined twice", alias));
    } else {
      rule_named(alias).defined = true;
      pool_.define(rule_named(alias).id, terminals_.regex(*pattern));
    }
  }

  // What a rule has of the text, and behind it what is ignored between such parts.
  ExprId token(ExprId item) {
    return ignored_rule_ && !in_terminal_ ? pool_.concat(item, pool_.call(*ignored_rule_)) : item;
  }

  // Whether a rule begins here, after a line end.
  bool at_rule() {
    const size_t before = in_.place();
    if (lark_ && (in_.peek() == '?' || in_.peek() == '!' || in_.peek() == '%')) return true;
    const bool named = !in_.name().empty();
    if (lark_ && in_.take(".")) in_.name();
    in_.skip_space(false);
    const bool result = named && (lark_ ? in_.peek() == ':' : in_.starts_with("::="));
    in_.go_back(before);
    return result;
  }

  ExprId alternatives() {
    std::vector<ExprId> choices;
    do {
      choices.push_back(sequence());
    } while (in_.take("|"));
    return pool_.alt(choices);
  }

  // Ends before '|', a closing bracket, or the next rule. A sequence may go on in the next line.
  ExprId sequence() {
    std::vector<ExprId> parts;
    while (true) {
      in_.skip_space(false);
      if (in_.peek() == '\n' || in_.peek() == '\r') {
        in_.skip_space(true);
        if (in_.done() || at_rule()) break;
      }
      if (in_.done() || in_.peek() == '|' || in_.peek() == ')' || (lark_ && in_.peek() == ']'))
        break;
      if (lark_ && in_.take("->")) {  // an alias of the tree
        in_.skip_space(false);
        in_.name();
        continue;
      }
      parts.push_back(quantified());
    }
    return pool_.concat(parts);
  }

  ExprId quantified() {
    ExprId item = atom();
    for (int count = 0; !in_.done(); ++count) {
      if (count > kMaxDepth) return refuse("too many quantifiers in a row");
      if (in_.take("*")) {
        item = pool_.repeat(item, 0, ExprPool::kUnbounded);
      } else if (in_.take("+")) {
        item = pool_.repeat(item, 1, ExprPool::kUnbounded);
      } else if (in_.take("?")) {
        item = pool_.optional(item);
      } else if (!lark_ && in_.take("{")) {
        item = counted(item, ",", "}");
      } else if (lark_ && in_.take("~")) {
        in_.skip_space(false);
        item = counted(item, "..", "");
      } else {
        break;
      }
    }
    return item;
  }

  ExprId counted(ExprId item, std::string_view between, std::string_view close) {
    const std::optional<int32_t> min = in_.number();
    if (!min) return refuse("a number is expected");
    int32_t max = *min;
    if (in_.take(between)) max = in_.number().value_or(ExprPool::kUnbounded);
    if (!close.empty() && !in_.take(close)) return refuse("'}' is expected");
    if (max != ExprPool::kUnbounded && max < *min) return refuse("a count with max below min");
    return pool_.repeat(item, *min, max);
  }

  ExprId atom() {
    const char c = in_.peek();
    if (c == '"' || c == '\'') return token(terminals_.quoted(c));
    if (c == '/' && lark_) return token(terminals_.slashed());
    if (c == '(') return group(')', false);
    if (c == '[' && lark_) return group(']', true);
    if (c == '[') return terminals_.char_class();
    if (c == '.' && !lark_) {
      in_.skip(1);
      return utf8_character(pool_, CharSet::all());
    }
    const std::string_view called = in_.name();
    if (called.empty()) return refuse(fmt::format("'{}' is not understood", c));
    const ExprId call = pool_.call(rule_named(called).id);
    return lark_ && is_terminal(called) ? token(call) : call;
  }

  ExprId group(char close, bool optional) {
    in_.skip(1);
    if (++depth_ > kMaxDepth) return refuse("groups are nested too deeply");
    const ExprId inner = alternatives();
    --depth_;
    in_.skip_space(true);
    if (!in_.take(std::string_view(&close, 1)))
      return refuse(fmt::format("'{}' is expected", close));
    return optional ? pool_.optional(inner) : inner;
  }

  ExprPool& pool_;
  bool lark_;
  EbnfText in_;
  EbnfTerminals terminals_;
  int depth_ = 0;
  std::map<std::string, Rule, std::less<>> rules_;
  std::string first_;
  bool in_terminal_ = false;
  std::optional<uint32_t> ignored_rule_;  // where anything is ignored
  std::vector<ExprId> ignored_;
};

}  // namespace

Result<ExprId> compile_ebnf(ExprPool& pool, std::string_view text) {
  return EbnfParser(pool, text).run();
}

}  // namespace deltaserve
