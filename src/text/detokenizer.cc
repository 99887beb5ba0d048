// See detokenizer.h. Replacing invalid UTF-8 is a left-to-right process whose only memory is an
// unfinished character, so holding that back makes the pieces add up to decode() of the whole.
#include "text/detokenizer.h"

#include "text/utf8.h"

namespace deltaserve {

std::string Detokenizer::push(int32_t id) {
  if (skip_special_tokens_ && tokenizer_->is_special(id)) return {};
  pending_.append(tokenizer_->token_bytes(id));
  std::string text;
  pending_.erase(0, utf8::append_repaired(text, pending_, true));
  return text;
}

std::string Detokenizer::finish() {
  std::string text = utf8::repair(pending_);
  pending_.clear();
  return text;
}

}  // namespace deltaserve
