// What stands for characters in a grammar of rules: strings, ranges, classes and regular
// expressions. Faults go to the text's own error.
#pragma once

#include <optional>
#include <string_view>

#include "grammar/ebnf_text.h"
#include "grammar/expr.h"
#include "grammar/regex_text.h"

namespace deltaserve {

class EbnfTerminals {
 public:
  // All outlive this.
  EbnfTerminals(ExprPool& pool, EbnfText& in, bool lark) : pool_(pool), in_(in), lark_(lark) {}

  ExprId quoted(char quote);  // a string, or with Lark a range of two characters
  ExprId slashed();           // /regex/
  ExprId char_class();        // [a-z]
  ExprId regex(std::string_view pattern);

 private:
  ExprId range(std::string_view low);
  std::optional<char32_t> character(RegexText& in);
  ExprId refuse(std::string_view what);

  ExprPool& pool_;
  EbnfText& in_;
  bool lark_;
};

}  // namespace deltaserve
