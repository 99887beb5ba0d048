// For comparison with other implementations: reads lines {"kind","spec","texts"} and answers each
// with {"accepted":[bool]} or {"error":text}. kind: schema, regex, ebnf.
#include <iostream>
#include <string>

#include "grammar/automaton.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {
namespace {

GrammarSpec spec_of(const json::Object& line) {
  const std::string kind(line.at("kind").get_string());
  if (kind == "schema") return JsonSchemaSpec{line.at("spec")};
  const std::string text(line.at("spec").get_string());
  if (kind == "regex") return RegexSpec{text};
  return EbnfSpec{text};
}

json::Object answer(const json::Object& line) {
  ExprPool pool;
  Result<ExprId> root = compile_spec(pool, spec_of(line));
  if (root) root = pool.close(*root);
  if (!root) return {{"error", root.error().message}};
  Automaton automaton(std::move(pool), *root);
  json::Array accepted;
  for (const json::Value& text : line.at("texts").get_array()) {
    const auto state = automaton.step(automaton.start(), std::string_view(text.get_string()));
    accepted.push_back(state != Automaton::kDead && automaton.accepting(state));
  }
  return {{"accepted", std::move(accepted)}};
}

}  // namespace
}  // namespace deltaserve

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto parsed = deltaserve::json::parse(line);
    if (!parsed) return 1;
    std::cout << deltaserve::json::serialize(deltaserve::answer(parsed->get_object())) << '\n';
  }
  return 0;
}
