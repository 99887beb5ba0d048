// The vocabulary's tokens as a flat depth-first trie of their bytes: a walk visits a token's prefix
// once for all tokens that share it, and skips a subtree in one step.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/automaton.h"

namespace deltaserve {

class TokenTrie {
 public:
  // Tokens with their bytes, none of them empty.
  explicit TokenTrie(std::vector<std::pair<std::string_view, int32_t>> tokens);

  // Sets the bits of the tokens whose bytes lead from `state` to a living state.
  void add_allowed(Automaton& automaton, Automaton::State state, std::vector<uint64_t>& bits) const;

  size_t num_nodes() const { return nodes_.size(); }

 private:
  struct Node {
    uint32_t end = 0;    // index behind the subtree
    int32_t token = -1;  // that ends here
    uint16_t depth = 0;  // of the byte within the token
    uint8_t byte = 0;
  };

  std::vector<Node> nodes_;
  size_t max_depth_ = 0;
};

}  // namespace deltaserve
