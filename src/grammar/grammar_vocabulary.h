// What all grammars of one tokenizer share: the bytes of every token, its tries, and the tokens of
// plain text, which most states inside a string allow all at once.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "grammar/token_trie.h"

namespace deltaserve {

class GrammarVocabulary {
 public:
  // tokens[id]: the bytes that token `id` adds to the text, "" for a token that grammars never
  // allow; control tokens have a byte of their own from 0xF8 on. `end_ids` end an answer.
  GrammarVocabulary(std::vector<std::string> tokens, std::vector<int32_t> end_ids);

  size_t size() const { return tokens_.size(); }
  size_t num_words() const { return (tokens_.size() + 63) / 64; }
  const std::string& bytes(int32_t token) const { return tokens_[static_cast<size_t>(token)]; }
  const std::vector<int32_t>& end_ids() const { return end_ids_; }
  bool is_end(int32_t token) const;

  // Tokens of whole characters that need no escape in JSON strings fall into groups by their
  // number of characters. A state that allows any `count` such characters allows whole groups.
  static constexpr std::array<int32_t, 5> kGroupSizes = {4, 8, 16, 32,
                                                         std::numeric_limits<int32_t>::max()};

  // bits |= the tokens allowed in `state`; `plain_count`: any so many plain characters may follow.
  void add_allowed(Automaton& automaton, Automaton::State state, int32_t plain_count,
                   std::vector<uint64_t>& bits) const;

 private:
  std::vector<std::string> tokens_;
  std::vector<int32_t> end_ids_;
  TokenTrie other_;                           // tokens in no group
  std::vector<TokenTrie> groups_;             // by kGroupSizes
  std::vector<std::vector<uint64_t>> up_to_;  // tokens of the groups up to this one
};

// How many plain characters may follow in any order, at most `limit`; kGroupSizes.back() for any
// number.
int32_t count_plain(Automaton& automaton, Automaton::State state, int32_t limit);

}  // namespace deltaserve
