// Regular expressions in the syntax that JSON Schema (ECMA-262) and Python share, as grammar
// expressions. What has no meaning as a set of texts (look-around, back references, word borders,
// flags) is refused by name.
#pragma once

#include <functional>
#include <string_view>

#include "base/error.h"
#include "grammar/char_set.h"
#include "grammar/expr.h"

namespace deltaserve {

struct RegexOptions {
  // How one character of a set is written in the text: utf8_character, or inside a JSON string.
  std::function<ExprId(const CharSet&)> character;
  // Whether the pattern may match anywhere in the text (JSON Schema's `pattern`) or must match all
  // of it.
  bool search = false;
};

// The texts that match. Errors: kInvalidArgument with the offset and what is wrong there.
Result<ExprId> compile_regex(ExprPool& pool, std::string_view pattern, const RegexOptions& options);

}  // namespace deltaserve
