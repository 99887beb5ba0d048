// The best possible hits: for a prompt, the longest beginning it shares with anything that was sent
// before and is finished. A trie over runs of tokens, exact at one token.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "trace.h"

namespace deltaserve {

class PrefixOracle {
 public:
  void add(std::span<const TokenRun> runs);
  int64_t longest(std::span<const TokenRun> runs) const;

 private:
  struct Node {
    std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Node>> next;  // by (seed, count)
  };

  Node root_;
};

}  // namespace deltaserve
