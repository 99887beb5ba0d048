// Short ways to compile a spec and to try texts on it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "grammar/automaton.h"
#include "grammar/grammar_spec.h"

namespace deltaserve {

// The whole text is accepted.
inline bool accepts(const GrammarSpec& spec, std::string_view text) {
  ExprPool pool;
  Result<ExprId> root = compile_spec(pool, spec);
  if (root) root = pool.close(*root);
  if (!root) {
    ADD_FAILURE() << root.error().message;
    return false;
  }
  Automaton automaton(std::move(pool), *root);
  const auto state = automaton.step(automaton.start(), text);
  return state != Automaton::kDead && automaton.accepting(state);
}

// The message with which a spec is refused, "" if it is not.
inline std::string refusal(const GrammarSpec& spec) {
  ExprPool pool;
  Result<ExprId> root = compile_spec(pool, spec);
  if (root) root = pool.close(*root);
  return root ? "" : root.error().message;
}

inline JsonSchemaSpec schema(std::string_view text) {
  return {json::parse(text).value()};
}

}  // namespace deltaserve
