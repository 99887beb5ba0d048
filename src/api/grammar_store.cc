// A list in order of use and an index into it. Two requests may compile the same grammar at the
// same time; the later one is kept.
#include "api/grammar_store.h"

#include <fmt/format.h>

#include <utility>

#include "chat/grammar_tokens.h"

namespace deltaserve {
namespace {

// A grammar in use holds up to 32 MiB of masks, and one that meets many states more than that
// again.
constexpr size_t kMaxGrammars = 64;
constexpr size_t kMaxBytes = size_t{1} << 30;
// A grammar that has met this many states is not handed out any more: a fresh one starts small.
constexpr size_t kMaxStates = size_t{1} << 18;

struct KeyOf {
  std::string operator()(const AnyJsonObject&) const { return "object"; }
  std::string operator()(const JsonSchemaSpec& spec) const {
    return fmt::format("schema {}", json::serialize(spec.schema));
  }
  std::string operator()(const RegexSpec& spec) const {
    return fmt::format("regex {}", spec.pattern);
  }
  std::string operator()(const ChoiceSpec& spec) const {
    json::Array choices;
    for (const std::string& choice : spec.choices) choices.emplace_back(choice);
    return fmt::format("choice {}", json::serialize(choices));
  }
  std::string operator()(const EbnfSpec& spec) const { return fmt::format("ebnf {}", spec.text); }
};

std::string key_of(const AnswerRules& rules) {
  std::string key = fmt::format("{}", rules.after_thought);
  if (rules.spec) {
    key += fmt::format(" {}", std::visit(KeyOf{}, *rules.spec));
  }
  if (rules.tools) {
    key += fmt::format(" tools {} {} {} {} {}", static_cast<int>(rules.tools->format),
                       rules.tools->parallel, rules.tools->required, rules.tools->text_first,
                       json::serialize(rules.tools->tools));
  }
  return key;
}

}  // namespace

GrammarStore::GrammarStore(const Tokenizer& tokenizer, const std::vector<int32_t>& end_ids)
    : vocabulary_(make_grammar_vocabulary(tokenizer, end_ids)) {}

std::shared_ptr<Grammar> GrammarStore::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end() || found->second->grammar->num_states() >= kMaxStates) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.front().grammar;
}

Result<std::shared_ptr<Grammar>> GrammarStore::compile(const AnswerRules& rules) const {
  try {
    ExprPool pool;
    pool.limit_work(ExprPool::kMaxWork, ExprPool::Clock::now() + kMaxCompileTime);
    std::vector<ExprId> choices;
    if (rules.spec) {
      const Result<ExprId> text = compile_spec(pool, *rules.spec, rules.after_thought);
      if (!text) return std::unexpected(text.error());
      choices.push_back(*text);
    }
    if (rules.tools) {
      const Result<ExprId> calls = compile_tool_calls(pool, *rules.tools);
      if (!calls) return std::unexpected(calls.error());
      choices.push_back(*calls);
    }
    const ExprId root = pool.alt(choices);
    return Grammar::make(std::move(pool), root, vocabulary_);
  } catch (const GrammarTooComplex& reason) {
    return too_complex(reason);
  }
}

// They grow while they are used, so that what they hold is counted anew.
void GrammarStore::drop_last() {
  size_t kept = 0;
  size_t bytes = 0;
  for (const Entry& entry : entries_) {
    bytes += entry.grammar->memory();
    if (kept == kMaxGrammars || (kept > 0 && bytes > kMaxBytes)) break;
    ++kept;
  }
  while (entries_.size() > kept) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Result<std::shared_ptr<Grammar>> GrammarStore::get(const AnswerRules& rules) {
  const std::string key = key_of(rules);
  if (std::shared_ptr<Grammar> known = find(key)) {
    return known;
  }
  Result<std::shared_ptr<Grammar>> grammar = compile(rules);
  if (!grammar) {
    return grammar;
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) {
    entries_.erase(found->second);
    index_.erase(found);
  }
  entries_.push_front({key, *grammar});
  index_[key] = entries_.begin();
  drop_last();
  return grammar;
}

}  // namespace deltaserve
