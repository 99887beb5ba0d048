// One choice from tokens to visible text: detokenizer, then stop strings. A parser that splits
// reasoning and tool calls belongs between the two, because stop strings apply to content only.
// Log probabilities wait for their text, so that a delta carries the entries of what it shows.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "api/choice_delta.h"
#include "api/generation_job.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace deltaserve {

class ChoiceStream {
 public:
  // Both must outlive this. `prefix_chars` is the length of echoed text before the answer.
  ChoiceStream(const Tokenizer& tokenizer, const ResponseOptions& options, size_t prefix_chars);

  // Adds a step's tokens; what may be shown now is appended to `delta`. Tokens after the end are
  // ignored. When a stop string ends the choice, its entries of tokens wholly inside or behind the
  // stop string are dropped.
  void push(const ChoiceOutput& output, ChoiceDelta& delta);

  bool finished() const { return end_.has_value(); }
  const ChoiceEnd& end() const { return *end_; }
  // True if the engine does not know yet that the choice has ended.
  bool stopped_by_string() const { return stopped_by_string_; }
  int64_t num_tokens() const { return num_tokens_; }  // generated, up to the stop

 private:
  struct PendingEntry {
    LogprobEntry entry;
    size_t begin = 0;                // byte offsets of its text
    std::optional<size_t> text_end;  // none while its character is incomplete
  };

  void push_token(int32_t id, const TokenLogprob* logprob, bool hidden, ChoiceDelta& delta);
  void queue_entry(const TokenLogprob& logprob, bool shown, std::string_view text);
  void feed(std::string_view text, ChoiceDelta& delta);
  void end_by_string(size_t stop, ChoiceDelta& delta);
  void end_by_engine(const ChoiceOutput& output, ChoiceDelta& delta);
  void send(std::string_view text, ChoiceDelta& delta);
  void release_entries(ChoiceDelta& delta);

  const Tokenizer* tokenizer_;
  const ResponseOptions* options_;
  Detokenizer detokenizer_;
  StopMatcher stop_matcher_;
  std::deque<PendingEntry> pending_;
  std::optional<ChoiceEnd> end_;
  bool stopped_by_string_ = false;
  int64_t num_tokens_ = 0;
  size_t decoded_bytes_ = 0;
  size_t decoded_chars_ = 0;
  size_t sent_bytes_ = 0;
};

}  // namespace deltaserve
