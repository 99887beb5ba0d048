// Any text as a schema, pattern, grammar or tool, by its first byte. What compiles is walked along
// the following bytes: from every state the text can go on or end, and no state is a dead end.
#include "grammar/grammar_spec.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chat/tool_call_grammar.h"
#include "grammar/automaton.h"

namespace {

using namespace deltaserve;

constexpr int kMaxSteps = 64;

Result<ExprId> compile(ExprPool& pool, char kind, std::string_view text) {
  if (kind == 'r') return compile_spec(pool, RegexSpec{std::string(text)}, true);
  if (kind == 'g') return compile_spec(pool, EbnfSpec{std::string(text)});
  const auto value = json::parse(text);
  if (!value) return std::unexpected(value.error());
  if (kind != 't') return compile_spec(pool, JsonSchemaSpec{*value});
  ToolCallRules rules;
  rules.format = text.size() % 2 == 0 ? ToolCallFormat::kXml : ToolCallFormat::kJson;
  rules.tools = {json::Object{{"function", json::Object{{"name", "f"}, {"parameters", *value}}}}};
  rules.required = true;
  return compile_tool_calls(pool, rules);
}

void walk(Automaton& automaton, std::string_view choices) {
  Automaton::State state = automaton.start();
  for (int step = 0; step < kMaxSteps; ++step) {
    const Automaton::Row& row = automaton.row(state);
    const unsigned first =
        choices.empty() ? 0 : static_cast<uint8_t>(choices[step % choices.size()]);
    Automaton::State next = Automaton::kDead;
    for (unsigned i = 0; i < 256 && next == Automaton::kDead; ++i) next = row[(first + i) % 256];
    if (next == Automaton::kDead) {
      if (!automaton.accepting(state)) std::abort();
      return;
    }
    state = next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    ExprPool pool(size_t{1} << 16);
    Result<ExprId> root = compile(pool, static_cast<char>(data[0]), text);
    if (root) root = pool.close(*root);
    if (!root) {
      if (root.error().message.empty()) std::abort();
      return 0;
    }
    Automaton automaton(std::move(pool), *root);
    walk(automaton, text);
  } catch (const GrammarTooComplex&) {
  }
  return 0;
}
