// Keeps the answer of one sequence on a grammar: which tokens may come next, as a bit each.
// Everything follows from the tokens recorded, of which the last can be taken back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sampling_params.h"

namespace deltaserve {

class GrammarLimit {
 public:
  // `rule` must outlive this. `forces`: see forced().
  explicit GrammarLimit(const GrammarRule& rule, bool forces = true);

  // The answer has not come to where the grammar begins.
  bool waits() const { return places_.back().state == kWaits; }
  // Nothing may follow but the end.
  bool ended() const { return ended_; }
  // The text has met more states than it may: no token is allowed any more.
  bool outgrown() const { return outgrown_; }

  // The token that comes next, whatever the model says: the text can go one way only, and this is
  // how the tokenizer cuts it. The mask then allows no other, so that a drawn token is the same.
  std::optional<int32_t> forced() const { return forced_; }

  // The mask of the next token has to be made: see make_mask().
  bool needs_mask() const { return !made_ && !waits(); }
  // Makes what mask() points to. On any thread, while nothing else is called on this. No bit is
  // set if the grammar has grown beyond its limits.
  void make_mask();
  // Its address stays the same; its bits hold for the next token once make_mask() was called.
  const uint64_t* mask() const { return mask_.data(); }

  void record(int32_t token);
  // Takes back the last `count` recorded tokens, such as drafts that were not accepted.
  void rollback(int64_t count);

 private:
  using State = Grammar::State;
  static constexpr State kWaits = ~State{0};  // no state: a pool has far fewer

  State follow(State state, int32_t token);
  bool find_ended();
  std::optional<int32_t> find_forced();
  void settle();

  const GrammarRule* rule_;
  struct Place {
    State state;
    int32_t token;  // that led there
  };
  std::vector<Place> places_;  // before the first token and behind each
  bool forces_;
  std::optional<int32_t> forced_;
  std::vector<uint64_t> mask_;
  bool made_ = false;
  bool ended_ = false;
  bool outgrown_ = false;
};

}  // namespace deltaserve
