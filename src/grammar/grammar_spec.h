// What a request may ask its answer to follow, and compiling it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "grammar/expr.h"
#include "grammar/grammar.h"
#include "json/json.h"

namespace deltaserve {

struct AnyJsonObject {};
struct JsonSchemaSpec {
  json::Value schema;
};
struct RegexSpec {
  std::string pattern;  // matches the whole answer
};
struct ChoiceSpec {
  std::vector<std::string> choices;  // at least one
};
struct EbnfSpec {
  std::string text;  // `name ::= ...` or Lark's `name: ...`
};
inline constexpr std::chrono::seconds kMaxCompileTime{2};  // of one grammar

using GrammarSpec = std::variant<AnyJsonObject, JsonSchemaSpec, RegexSpec, ChoiceSpec, EbnfSpec>;

// The expression of a spec, in a pool that is not closed yet. JSON may begin with a little white
// space, and `after_thought` everything with line feeds, which models write there and the answer
// leaves out; nothing follows the text.
// Errors: kInvalidArgument.
Result<ExprId> compile_spec(ExprPool& pool, const GrammarSpec& spec, bool after_thought = false);

// The error of what grew beyond its limits.
std::unexpected<Error> too_complex(const GrammarTooComplex& reason);

// Compiles it for a vocabulary. Errors: kInvalidArgument, also for what grows beyond the limits.
Result<std::shared_ptr<Grammar>> compile_grammar(
    const GrammarSpec& spec, std::shared_ptr<const GrammarVocabulary> vocabulary,
    bool after_thought = false);

}  // namespace deltaserve
