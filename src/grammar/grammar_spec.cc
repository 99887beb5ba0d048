// One compiler for each kind of spec.
#include "grammar/grammar_spec.h"

#include <utility>

#include "grammar/ebnf.h"
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/regex.h"

namespace deltaserve {
namespace {

constexpr int32_t kMaxLeadingSpace = 4;

struct Compile {
  ExprPool& pool;

  ExprId after_space(ExprId value) const {
    const ByteSet space = ByteSet::of(' ') | ByteSet::of('\n') | ByteSet::of('\t');
    return pool.concat(pool.repeat(pool.bytes(space), 0, kMaxLeadingSpace), value);
  }
  Result<ExprId> operator()(const AnyJsonObject&) const {
    return after_space(JsonText(pool).object());
  }
  Result<ExprId> operator()(const JsonSchemaSpec& spec) const {
    JsonText json(pool);
    const Result<ExprId> value = compile_json_schema(pool, json, spec.schema);
    return value ? Result<ExprId>(after_space(*value)) : value;
  }
  Result<ExprId> operator()(const RegexSpec& spec) const {
    const auto character = [this](const CharSet& set) { return utf8_character(pool, set); };
    return compile_regex(pool, spec.pattern, {character, false});
  }
  Result<ExprId> operator()(const ChoiceSpec& spec) const {
    std::vector<ExprId> choices;
    for (const std::string& choice : spec.choices) choices.push_back(pool.literal(choice));
    return pool.alt(std::move(choices));
  }
  Result<ExprId> operator()(const EbnfSpec& spec) const { return compile_ebnf(pool, spec.text); }
};

}  // namespace

Result<ExprId> compile_spec(ExprPool& pool, const GrammarSpec& spec) {
  return std::visit(Compile{pool}, spec);
}

Result<std::shared_ptr<Grammar>> compile_grammar(
    const GrammarSpec& spec, std::shared_ptr<const GrammarVocabulary> vocabulary) {
  try {
    ExprPool pool;
    const Result<ExprId> root = compile_spec(pool, spec);
    if (!root) {
      return std::unexpected(root.error());
    }
    return Grammar::make(std::move(pool), *root, std::move(vocabulary));
  } catch (const GrammarTooComplex&) {
    return invalid("The grammar is too large.");
  }
}

}  // namespace deltaserve
