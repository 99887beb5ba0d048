// What a step is made of as far as its time depends on it, and what prompts may take of one.
#pragma once

#include <cstdint>
#include <limits>

namespace deltaserve {

// Sums over a step's rows, as numbers that a linear model of its time takes.
struct StepWork {
  double decodes = 0.0;         // rows computed one by one
  double decode_context = 0.0;  // tokens that these attend to
  double prompt_tokens = 0.0;   // rows computed in chunks or replayed, and what takes as long
  double prompt_pairs = 0.0;    // of them with the tokens that they attend to

  // `num_tokens` rows of a sequence behind `context` tokens.
  void add_decodes(int64_t context, int64_t num_tokens);
  void add_prompt(int64_t context, int64_t num_tokens);
};

// Seconds that the prompts of a step may take beside its decodes, and what they cost.
struct PromptAllowance {
  double seconds = std::numeric_limits<double>::infinity();
  double token_seconds = 0.0;
  double pair_seconds = 0.0;
  int64_t most_tokens = std::numeric_limits<int64_t>::max();

  double cost(int64_t context, int64_t num_tokens) const;
  void take(int64_t context, int64_t num_tokens);
  // Tokens that can be computed behind `context` others.
  int64_t tokens_behind(int64_t context) const;
};

}  // namespace deltaserve
