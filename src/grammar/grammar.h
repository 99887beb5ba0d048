// A compiled grammar over a vocabulary: which tokens may come next, and where a token leads. Shared
// by all sequences that follow it; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "grammar/automaton.h"
#include "grammar/grammar_vocabulary.h"

namespace deltaserve {

class Grammar {
 public:
  using State = Automaton::State;
  static constexpr State kDead = Automaton::kDead;

  // `pool` is not closed yet. Errors: kInvalidArgument for a grammar that matches no text or has a
  // rule that begins with itself.
  static Result<std::shared_ptr<Grammar>> make(ExprPool pool, ExprId root,
                                               std::shared_ptr<const GrammarVocabulary> vocabulary);

  State start() const { return start_; }
  // kDead for a token that is not allowed; the state itself for an end token that is.
  State advance(State state, int32_t token);
  // Overwrites `bits`, vocabulary.num_words() of them, with the tokens allowed in a living state.
  // At least one is: an end token where the text may end.
  void fill_mask(State state, std::span<uint64_t> bits);

  // What has to come next, whatever the answer says; empty where there is a choice.
  ForcedText forced_text(State state);

  bool may_end(State state) const;
  bool must_end(State state) const;
  size_t num_states() const;  // met so far
  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }

 private:
  Grammar(Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary)
      : automaton_(std::move(automaton)),
        start_(automaton_.start()),
        vocabulary_(std::move(vocabulary)) {}

  const std::vector<uint64_t>& mask_of(State state);

  mutable std::mutex mutex_;
  Automaton automaton_;
  State start_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::unordered_map<State, std::vector<uint64_t>> masks_;
  std::unordered_map<State, ForcedText> forced_;  // where there is any
};

}  // namespace deltaserve
