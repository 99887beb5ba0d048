// A compiled grammar over a vocabulary: which tokens may come next, and where a token leads. Shared
// by all sequences that follow it; thread-safe.
#pragma once

#include <atomic>
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
  // kDead for a token that is not allowed; the state itself for an end token that is. Like the
  // functions below, throws GrammarTooComplex where the text needs too many states.
  State advance(State state, int32_t token);
  // Overwrites `bits`, vocabulary.num_words() of them, with the tokens allowed in a living state.
  // At least one is: an end token where the text may end.
  void fill_mask(State state, std::span<uint64_t> bits);

  // What has to come next, whatever the answer says; empty where there is a choice.
  ForcedText forced_text(State state);

  bool may_end(State state) const;
  bool must_end(State state);
  size_t num_states() const { return num_states_; }  // met so far
  size_t memory() const { return memory_; }          // bytes of states and masks, about
  const GrammarVocabulary& vocabulary() const { return *vocabulary_; }

 private:
  Grammar(Automaton automaton, std::shared_ptr<const GrammarVocabulary> vocabulary)
      : automaton_(std::move(automaton)),
        start_(automaton_.start()),
        vocabulary_(std::move(vocabulary)) {
    measure();
  }

  const std::vector<uint64_t>& mask_of(State state);
  void measure();

  mutable std::mutex mutex_;
  Automaton automaton_;
  State start_;
  std::shared_ptr<const GrammarVocabulary> vocabulary_;
  std::unordered_map<State, std::vector<uint64_t>> masks_;
  std::unordered_map<State, ForcedText> forced_;  // where there is any
  // Asked for while others make masks.
  std::atomic<size_t> num_states_ = 0;
  std::atomic<size_t> memory_ = 0;
};

}  // namespace deltaserve
