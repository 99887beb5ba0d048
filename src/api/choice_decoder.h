// Token ids of one choice to output events: detokenizer, then the output parser unless the answer
// is raw text. Counts the tokens of the thought, and keeps account of how far into the text events
// have come.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/generation_job.h"
#include "chat/output_parser.h"
#include "text/detokenizer.h"

namespace deltaserve {

class ChoiceDecoder {
 public:
  // `tokenizer` must outlive this.
  ChoiceDecoder(const Tokenizer& tokenizer, const ResponseOptions& options);

  std::vector<OutputEvent> push(int32_t id);
  std::vector<OutputEvent> finish(OutputEnd end);  // once, at the end

  // Whether the last token has text that the answer shows: not if it is a tag that the parser took
  // or a special token that is skipped.
  bool last_is_visible() const { return last_is_visible_; }

  // The last token ends inside a character.
  bool holds_bytes() const { return detokenizer_.holds_bytes(); }

  // Bytes of text so far, and how many of them events have been made of (or will never be).
  size_t num_bytes() const { return parser_ ? parser_->num_bytes() : num_raw_bytes_; }
  size_t num_settled() const { return parser_ ? parser_->num_settled() : num_raw_bytes_; }

  // Tokens of the thought, its tags not counted. Those of a call inside a thought count once it is
  // clear that it is none.
  int64_t num_reasoning_tokens() const { return num_reasoning_tokens_; }

 private:
  std::vector<OutputEvent> push_text(std::string_view text);
  void count(ControlToken token);

  const Tokenizer* tokenizer_;
  ControlTokenIds control_ids_;
  Detokenizer detokenizer_;
  std::optional<OutputParser> parser_;
  bool skips_special_;
  bool last_is_visible_ = true;
  size_t num_raw_bytes_ = 0;
  int64_t num_reasoning_tokens_ = 0;
  int64_t num_doubtful_tokens_ = 0;  // of a call inside the thought
};

}  // namespace deltaserve
