// Grammars written by the user: EBNF with `::=` (as GBNF and XGrammar have it) or Lark's notation
// with `:`. Terminals and rules are the same thing here.
#pragma once

#include <string_view>

#include "base/error.h"
#include "grammar/expr.h"

namespace deltaserve {

// The rule `root` (EBNF) or `start` (Lark), or the first one if there is neither. Errors:
// kInvalidArgument with the line, for what is not understood or not defined.
Result<ExprId> compile_ebnf(ExprPool& pool, std::string_view text);

}  // namespace deltaserve
