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
  TokenTrie() = default;
  // Tokens with their bytes, none of them empty.
  explicit TokenTrie(std::vector<std::pair<std::string_view, int32_t>> tokens);

  // Calls visit(token) for the tokens whose bytes lead from `state` to a living state.
  template <typename Visit>
  void walk(Automaton& automaton, Automaton::State state, Visit visit) const;

  size_t num_nodes() const { return nodes_.size(); }

 private:
  struct Node {
    uint32_t end = 0;    // index behind the subtree
    int32_t token = -1;  // that ends here
    uint16_t depth = 0;  // of the byte within the token
    uint8_t byte = 0;
    bool few = false;  // has at most kFewChildren
  };

  std::vector<Node> nodes_;
  size_t max_depth_ = 0;
};

// A state behind a node with few children is asked for few bytes: it gets no row of its own, which
// would cost the derivatives of all classes of bytes.
template <typename Visit>
void TokenTrie::walk(Automaton& automaton, Automaton::State state, Visit visit) const {
  struct Place {
    Automaton::State state;
    const Automaton::Row* row;  // null: not made for this
  };
  std::vector<Place> places(max_depth_ + 1);  // by depth
  places[0] = {state, &automaton.row(state)};
  const auto size = static_cast<uint32_t>(nodes_.size());
  for (uint32_t i = 0; i < size;) {
    const Node& node = nodes_[i];
    const Place& place = places[node.depth];
    const Automaton::State next =
        place.row != nullptr ? (*place.row)[node.byte] : automaton.peek(place.state, node.byte);
    if (next == Automaton::kDead) {
      i = node.end;
      continue;
    }
    if (node.token >= 0) visit(node.token);
    if (node.end > i + 1) {
      places[node.depth + 1U] = {next, node.few ? automaton.known_row(next) : &automaton.row(next)};
    }
    ++i;
  }
}

}  // namespace deltaserve
