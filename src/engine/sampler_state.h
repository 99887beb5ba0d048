// What sampling remembers of one sequence between its tokens: how often each token occurred (for
// the penalties), which tokens may not come (yet), how far the thought has come, and the seed. Kept
// incrementally, so that a step costs the same after ten tokens and after ten thousand.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/grammar_limit.h"
#include "engine/request.h"
#include "engine/thinking_limit.h"
#include "ops/sampling.h"

namespace deltaserve {

class SamplerState {
 public:
  // `request` must outlive this and have a seed; choice i draws with seed + i. Token ids in it lie
  // in [0, vocab_size), except stop and banned tokens, which may lie anywhere.
  SamplerState(const Request& request, int32_t choice, int32_t vocab_size);

  // How to draw the next token. Its pointers are valid until the next record() or destruction; what
  // row.allowed points to is complete once unmade_mask() is made. With a `drawn_row` the one behind
  // the next, which that row of a draw gives: see SamplingRow::drawn_row and can_draw_ahead().
  SamplingRow next_row(int32_t drawn_row = -1) const;

  // Whether the next token, whatever it is, changes nothing of how the one after it is drawn but
  // its position and the counts.
  bool can_draw_ahead() const { return !thinking_ && !grammar_; }
  // Whether the next token is the last whatever it is.
  bool ends_with_next() const { return num_output_ + 1 >= request_->sampling.max_tokens; }

  // The next token, if it need not be drawn: a grammar leaves no other, and nobody asks for its
  // logprob. Drawing it would give the same token.
  std::optional<int32_t> forced_token() const;

  // What has to make the mask of next_row(), null if nothing has to.
  GrammarLimit* unmade_mask() { return grammar_ && grammar_->needs_mask() ? &*grammar_ : nullptr; }

  // A token was drawn and is now part of the output.
  void record(int32_t token);

  // Whether the output ends with `token`, the stop tokens being kStop and max_tokens kLength.
  // kStop as well where a grammar has come to its end.
  std::optional<FinishReason> finish_after(int32_t token) const;
  bool outgrown() const { return grammar_ && grammar_->outgrown(); }  // see GrammarLimit
  bool is_stop_token(int32_t token) const;                            // ends the output

 private:
  int32_t num_banned(int64_t position) const;
  void count_prompt();

  const Request* request_;
  uint64_t seed_;
  int64_t num_output_ = 0;
  bool counts_prompt_;
  bool counts_output_;
  std::vector<TokenCount> counts_;
  std::unordered_map<int32_t, size_t> count_index_;  // token to its place in counts_
  // The always banned, then the ends of an answer, then the client's stop tokens.
  std::vector<int32_t> banned_;
  int32_t num_always_banned_ = 0;
  int32_t num_banned_with_ends_ = 0;
  std::optional<ThinkingLimit> thinking_;
  std::optional<GrammarLimit> grammar_;
};

}  // namespace deltaserve
