// Which token the tokenizer itself would put next. Grammars allow every way to cut a text; a model
// has mostly seen this one.
#include <algorithm>
#include <string>

#include "grammar/grammar_vocabulary.h"

namespace deltaserve {
namespace {

bool is_control(char c) {
  return static_cast<uint8_t>(c) >= kFirstControlByte;
}

// Pre-tokenizers look back over the word that a text goes on, which rarely is cut into more.
constexpr size_t kContextTokens = 2;

}  // namespace

std::optional<int32_t> GrammarVocabulary::canonical_token(std::span<const int32_t> last_tokens,
                                                          const ForcedText& text) const {
  if (!encode_ || text.bytes.empty()) {
    return std::nullopt;
  }
  const std::string control(1, text.bytes.front());
  if (is_control(control.front())) {
    const auto id = std::ranges::find(tokens_, control);
    return id == tokens_.end() ? std::nullopt
                               : std::optional(static_cast<int32_t>(id - tokens_.begin()));
  }
  // Plain tokens before the text, as far as they are plain.
  size_t first = last_tokens.size();
  while (first > 0 && last_tokens.size() - first < kContextTokens) {
    const std::string& before = bytes(last_tokens[first - 1]);
    if (before.empty() || is_control(before.front())) break;
    --first;
  }
  const auto context = last_tokens.subspan(first);
  std::string whole;
  for (const int32_t token : context) whole += bytes(token);
  const auto end = std::ranges::find_if(text.bytes, is_control);  // nothing joins a control token
  const std::string_view plain(text.bytes.data(), static_cast<size_t>(end - text.bytes.begin()));
  whole += plain;
  const std::vector<int32_t> ids = encode_(whole);
  const bool closed = text.is_rest || plain.size() < text.bytes.size();
  if (ids.size() < context.size() + (closed ? 1 : 2) ||
      !std::equal(context.begin(), context.end(), ids.begin())) {
    return std::nullopt;
  }
  const int32_t next = ids[context.size()];
  const bool fits = next >= 0 && static_cast<size_t>(next) < tokens_.size() &&
                    !bytes(next).empty() && plain.starts_with(bytes(next));
  return fits ? std::optional(next) : std::nullopt;
}

}  // namespace deltaserve
