// What all grammars of one tokenizer share: the bytes of every token, its tries, and the tokens of
// plain text, which most states inside a string allow all at once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grammar/token_trie.h"

namespace deltaserve {

// Plain text: whole characters that need no escape in JSON strings. How many of them, whichever
// they are, may follow on a state.
struct PlainRun {
  static constexpr int32_t kEndless = std::numeric_limits<int32_t>::max();
  int32_t count = 0;    // kEndless where the state leads back to itself
  bool closed = false;  // and no plain character after those
};
PlainRun plain_run(Automaton& automaton, Automaton::State state);

// Bytes that have to come next in an answer.
struct ForcedText {
  std::string bytes;
  bool is_rest = false;  // nothing comes behind them
};

class GrammarVocabulary {
 public:
  // How the tokenizer cuts plain text.
  using Encode = std::function<std::vector<int32_t>(std::string_view)>;

  // tokens[id]: the bytes that token `id` adds to the text, "" for a token that grammars never
  // allow; control tokens have a byte of their own from 0xF8 on. `end_ids` end an answer.
  // Without `encode` no token is the tokenizer's own choice. It is called by many threads.
  GrammarVocabulary(std::vector<std::string> tokens, std::vector<int32_t> end_ids,
                    Encode encode = {});

  size_t size() const { return tokens_.size(); }
  size_t num_words() const { return (tokens_.size() + 63) / 64; }
  const std::string& bytes(int32_t token) const { return tokens_[static_cast<size_t>(token)]; }
  const std::vector<int32_t>& end_ids() const { return end_ids_; }
  bool is_end(int32_t token) const;

  // The token that the tokenizer puts first in `text` behind the last tokens of an answer. None if
  // it would have cut those and the text in another way, or if what comes behind the text may
  // change the token.
  std::optional<int32_t> canonical_token(std::span<const int32_t> last_tokens,
                                         const ForcedText& text) const;

  // bits |= the tokens allowed in `state`.
  void add_allowed(Automaton& automaton, Automaton::State state, std::vector<uint64_t>& bits) const;

 private:
  std::vector<std::string> tokens_;
  std::vector<int32_t> end_ids_;
  Encode encode_;
  TokenTrie all_;
  // Plain tokens by their number of characters, and a trie of those with more than there are rows.
  std::vector<std::vector<uint64_t>> up_to_;  // up to that number; the last: all
  TokenTrie beyond_;
  // Tokens that are not plain, and the same cut behind their plain beginnings: where any plain text
  // may stand, what follows decides, and few endings stand for many tokens.
  TokenTrie other_;
  std::vector<std::vector<int32_t>> ending_tokens_;
  TokenTrie endings_;  // its tokens are indices into ending_tokens_
};

}  // namespace deltaserve
