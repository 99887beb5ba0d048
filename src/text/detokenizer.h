// Token ids to text one at a time, for streaming. Bytes are held back until they complete a UTF-8
// character, so a client never sees half of one; bytes that can never complete one come out as
// U+FFFD exactly where decoding the whole sequence would put it.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace deltaserve {

class Detokenizer {
 public:
  // `tokenizer` must outlive this. With `skip_special_tokens` special added tokens give no text.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special_tokens)
      : tokenizer_(&tokenizer), skip_special_tokens_(skip_special_tokens) {}

  // The text that token `id` completes, possibly empty.
  std::string push(int32_t id);

  // What is still held back, as U+FFFD. Call once at the end of the sequence.
  std::string finish();

  // Whether the beginning of a character is held back.
  bool holds_bytes() const { return !pending_.empty(); }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_tokens_;
  std::string pending_;  // at most 3 bytes: the start of a character
};

}  // namespace deltaserve
