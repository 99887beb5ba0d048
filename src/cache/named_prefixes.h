// Which prefixes clients have given names, the latest of each name: what is worth keeping beyond
// the life of the process. Nodes may be evicted meanwhile: a name then stands for nothing.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/prefix_node.h"

namespace deltaserve {

class NamedPrefixes {
 public:
  struct Entry {
    std::string name;
    std::string salt;
    const PrefixNode* node = nullptr;
    uint64_t node_id = 0;  // nodes are used again for others
    bool holds() const { return node->parent != nullptr && node->id == node_id; }
  };

  // The name, within its salt, stands for the prefix that ends with `node`, which must live as long
  // as this (as the nodes of an index do). The oldest name gives way beyond a fixed number.
  void put(std::string_view name, std::string_view salt, const PrefixNode& node);

  // Those whose node is still there, the one named last first.
  std::vector<Entry> newest_first() const;

 private:
  std::list<Entry> entries_;  // newest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_name_;
};

// Name and salt as one string that no other pair gives.
std::string prefix_identity(std::string_view name, std::string_view salt);

}  // namespace deltaserve
