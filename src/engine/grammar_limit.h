// Keeps the answer of one sequence on a grammar: which tokens may come next, as a bit each.
// Everything follows from the tokens recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sampling_params.h"

namespace deltaserve {

class GrammarLimit {
 public:
  // `rule` must outlive this.
  explicit GrammarLimit(const GrammarRule& rule);

  // The answer has not come to where the grammar begins.
  bool waits() const { return waits_; }
  // Only while not waits(); valid until the next record(). No bit is set if the grammar has grown
  // beyond its limits.
  const uint64_t* allowed() const { return mask_.data(); }
  // Nothing may follow but the end.
  bool ended() const { return ended_; }

  void record(int32_t token);

 private:
  void follow(int32_t token);
  void enter(Grammar::State state);

  const GrammarRule* rule_;
  bool waits_;
  bool ended_ = false;
  Grammar::State state_ = Grammar::kDead;
  std::vector<uint64_t> mask_;
};

}  // namespace deltaserve
