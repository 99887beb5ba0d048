// One choice from tokens to what its client may see: decoder (detokenizer and output parser), then
// stop strings, which apply to content only. A choice ends with the engine's last output, at a stop
// string, or with its first tool call if only one is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/choice_decoder.h"
#include "api/choice_delta.h"
#include "api/generation_job.h"
#include "api/logprob_queue.h"
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
  bool ended_here() const { return ended_here_; }
  int64_t num_tokens() const { return num_tokens_; }  // generated, up to the end
  int64_t num_reasoning_tokens() const { return decoder_.num_reasoning_tokens(); }

 private:
  void push_token(int32_t id, const TokenLogprob* logprob, bool hidden, ChoiceDelta& delta);
  void take(std::vector<OutputEvent> events, ChoiceDelta& delta);
  void take_content(std::string_view text, ChoiceDelta& delta);
  void take_other(OutputEvent event, ChoiceDelta& delta);
  void send(std::string_view text, ChoiceDelta& delta);
  void end_by_string(size_t stop, ChoiceDelta& delta);
  void end_by_engine(const ChoiceOutput& output, ChoiceDelta& delta);
  ChoiceFinish finish_of_stop() const;

  const ResponseOptions* options_;
  ChoiceDecoder decoder_;
  StopMatcher stop_matcher_;
  LogprobQueue logprobs_;
  std::optional<ChoiceEnd> end_;
  bool ended_here_ = false;
  bool has_call_ = false;  // a whole one
  int64_t num_tokens_ = 0;
  size_t content_bytes_ = 0;  // out of the decoder
  size_t content_chars_ = 0;
  size_t sent_bytes_ = 0;  // of content, past the stop matcher
};

}  // namespace deltaserve
