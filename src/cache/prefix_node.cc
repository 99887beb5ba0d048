#include "cache/prefix_node.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

PrefixNode& device_part(PrefixNode& node) {
  PrefixNode* n = &node;
  while (!n->on_device()) n = n->parent;
  return *n;
}

std::vector<int32_t> prefix_blocks(const PrefixNode& node) {
  std::vector<int32_t> blocks(static_cast<size_t>(node.depth) * kBlocksPerChunk);
  for (const PrefixNode* n = &node; n->parent != nullptr; n = n->parent) {
    std::ranges::copy(n->blocks, blocks.begin() + (n->depth - 1) * kBlocksPerChunk);
  }
  return blocks;
}

PrefixNode& prefix_ancestor(PrefixNode& node, int64_t depth) {
  DS_CHECK(depth >= 0 && depth <= node.depth);
  PrefixNode* n = &node;
  while (n->depth > depth) n = n->parent;
  return *n;
}

}  // namespace deltaserve
