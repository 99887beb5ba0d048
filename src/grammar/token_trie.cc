// Building the trie.
#include "grammar/token_trie.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {
namespace {

// A row costs about as much as this many single steps.
constexpr int kFewChildren = 4;

}  // namespace

// Sorted tokens come in depth-first order. A second token with the same bytes is a leaf beside the
// first one's subtree.
TokenTrie::TokenTrie(std::vector<std::pair<std::string_view, int32_t>> tokens) {
  std::ranges::sort(tokens);
  std::vector<uint32_t> open;  // nodes on the path of the last token
  std::vector<Node> twins;     // to be added when the path above them is left
  std::string_view last;
  const auto close_to = [&](size_t depth) {
    while (open.size() > depth) {
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
      open.pop_back();
      while (!twins.empty() && twins.back().depth == open.size()) {
        twins.back().end = static_cast<uint32_t>(nodes_.size() + 1);
        nodes_.push_back(twins.back());
        twins.pop_back();
      }
    }
  };
  for (const auto& [bytes, token] : tokens) {
    DS_CHECK(!bytes.empty() && bytes.size() < 0xFFFF, "a token of a wrong size");
    const auto depth = static_cast<uint16_t>(bytes.size() - 1);
    if (bytes == last) {
      twins.push_back({0, token, depth, static_cast<uint8_t>(bytes.back())});
      continue;
    }
    const auto differ = std::ranges::mismatch(bytes, last);
    close_to(static_cast<size_t>(differ.in1 - bytes.begin()));
    for (size_t i = open.size(); i < bytes.size(); ++i) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({0, -1, static_cast<uint16_t>(i), static_cast<uint8_t>(bytes[i])});
    }
    nodes_.back().token = token;
    max_depth_ = std::max(max_depth_, bytes.size());
    last = bytes;
  }
  close_to(0);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    int children = 0;
    for (uint32_t child = i + 1; child < nodes_[i].end; child = nodes_[child].end) ++children;
    nodes_[i].few = children <= kFewChildren;
  }
}

}  // namespace deltaserve
