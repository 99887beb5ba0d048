// Keeps the thought of one sequence within its budget: counts its tokens, and once they are spent
// names the tokens that close it, one after the other. Everything follows from the tokens recorded,
// so a sequence that is computed again is forced to the same tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sampling_params.h"

namespace deltaserve {

class ThinkingLimit {
 public:
  // `budget` must outlive this; its tokens lie in [0, vocab_size).
  ThinkingLimit(const ThinkingBudget& budget, int32_t vocab_size);

  // Whether the next token is given instead of drawn.
  bool forces() const { return state_ == State::kClosing; }

  // A bit per token of the vocabulary, set for the forced one alone. Only while forces(); valid
  // until the next record().
  const uint64_t* only_forced() const { return mask_.data(); }

  void record(int32_t token);

 private:
  enum class State : uint8_t {
    kBefore,  // nothing has come, a thought may open
    kThought,
    kClosing,
    kOver,
  };

  void check_budget();
  void force_next();
  uint64_t& word_of(int32_t token) { return mask_[static_cast<size_t>(token) / 64]; }
  static uint64_t bit_of(int32_t token) {
    return uint64_t{1} << (static_cast<uint32_t>(token) % 64);
  }

  const ThinkingBudget* budget_;
  int32_t vocab_size_;
  State state_;
  int64_t num_tokens_ = 0;  // of the thought
  size_t num_forced_ = 0;
  std::vector<uint64_t> mask_;  // while closing
};

}  // namespace deltaserve
