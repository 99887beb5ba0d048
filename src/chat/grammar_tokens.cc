// Only the two tags around a tool call may be part of a grammar's text: thoughts come before it.
#include "chat/grammar_tokens.h"

#include <algorithm>
#include <string>
#include <utility>

#include "chat/output_control.h"

namespace deltaserve {

std::shared_ptr<const GrammarVocabulary> make_grammar_vocabulary(
    const Tokenizer& tokenizer, const std::vector<int32_t>& end_ids) {
  const ControlTokenIds control_ids(tokenizer);
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string& bytes = tokens[static_cast<size_t>(id)];
    const ControlToken kind = control_ids.kind(id);
    if (kind == ControlToken::kToolCallOpen || kind == ControlToken::kToolCallClose) {
      bytes = control::to_byte(kind);
    } else if (kind == ControlToken::kNone && !tokenizer.is_added(id)) {
      bytes = tokenizer.token_bytes(id);
      // A byte-level vocabulary also has the bytes that stand for control tokens here.
      if (std::ranges::any_of(bytes, control::is_never_text)) bytes.clear();
    }
  }
  std::vector<int32_t> ends;
  for (const int32_t id : end_ids) {
    if (id >= 0 && id < tokenizer.vocab_size()) ends.push_back(id);
  }
  return std::make_shared<GrammarVocabulary>(
      std::move(tokens), std::move(ends),
      [&tokenizer](std::string_view text) { return tokenizer.encode(text, false); });
}

}  // namespace deltaserve
