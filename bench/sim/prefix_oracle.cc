// Walking the trie.
#include "prefix_oracle.h"

#include <algorithm>

namespace deltaserve {

void PrefixOracle::add(std::span<const TokenRun> runs) {
  Node* node = &root_;
  for (const TokenRun& run : runs) {
    std::unique_ptr<Node>& next = node->next[{run.seed, run.count}];
    if (next == nullptr) next = std::make_unique<Node>();
    node = next.get();
  }
}

int64_t PrefixOracle::longest(std::span<const TokenRun> runs) const {
  const Node* node = &root_;
  int64_t length = 0;
  for (const TokenRun& run : runs) {
    const auto next = node->next.find({run.seed, run.count});
    if (next == node->next.end()) {
      // Runs of one seed share their beginning.
      int64_t most = 0;
      for (auto other = node->next.lower_bound({run.seed, 0});
           other != node->next.end() && other->first.first == run.seed; ++other) {
        most = std::max(most, std::min(run.count, other->first.second));
      }
      return length + most;
    }
    length += run.count;
    node = next->second.get();
  }
  return length;
}

}  // namespace deltaserve
