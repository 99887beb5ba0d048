// One compiler for each kind of spec.
#include "grammar/grammar_spec.h"

#include <fmt/format.h>

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

  Result<ExprId> operator()(const AnyJsonObject&) const { return JsonText(pool).object(); }
  Result<ExprId> operator()(const JsonSchemaSpec& spec) const {
    JsonText json(pool);
    return compile_json_schema(pool, json, spec.schema);
  }
  Result<ExprId> operator()(const RegexSpec& spec) const {
    const auto character = [this](const CharSet& set) { return utf8_character(pool, set); };
    return compile_regex(pool, spec.pattern, {character, false});
  }
  Result<ExprId> operator()(const ChoiceSpec& spec) const {
    std::vector<ExprId> choices;
    choices.reserve(spec.choices.size());
    for (const std::string& choice : spec.choices) choices.push_back(pool.literal(choice));
    return pool.alt(choices);
  }
  Result<ExprId> operator()(const EbnfSpec& spec) const { return compile_ebnf(pool, spec.text); }
};

}  // namespace

Result<ExprId> compile_spec(ExprPool& pool, const GrammarSpec& spec, bool after_thought) {
  const Result<ExprId> text = std::visit(Compile{pool}, spec);
  const bool is_json =
      std::holds_alternative<AnyJsonObject>(spec) || std::holds_alternative<JsonSchemaSpec>(spec);
  if (!text || (!is_json && !after_thought)) {
    return text;
  }
  ByteSet space = ByteSet::of('\n');
  if (is_json) space = space | ByteSet::of(' ') | ByteSet::of('\t');
  return pool.concat(pool.repeat(pool.bytes(space), 0, kMaxLeadingSpace), *text);
}

std::unexpected<Error> too_complex(const GrammarTooComplex& reason) {
  return invalid(fmt::format("The grammar is too complex: {}.", reason.what()));
}

Result<std::shared_ptr<Grammar>> compile_grammar(
    const GrammarSpec& spec, std::shared_ptr<const GrammarVocabulary> vocabulary,
    bool after_thought) {
  try {
    ExprPool pool;
    pool.limit_work(ExprPool::kMaxWork, ExprPool::Clock::now() + kMaxCompileTime);
    const Result<ExprId> root = compile_spec(pool, spec, after_thought);
    if (!root) {
      return std::unexpected(root.error());
    }
    return Grammar::make(std::move(pool), *root, std::move(vocabulary));
  } catch (const GrammarTooComplex& reason) {
    return too_complex(reason);
  }
}

}  // namespace deltaserve
