// A sequence's hold on the prefix index.
#pragma once

#include "cache/prefix_index.h"

namespace deltaserve {

// Keeps a node, and with it the whole prefix before it, in the index.
class PrefixPin {
 public:
  PrefixPin() = default;
  PrefixPin(PrefixIndex& index, PrefixNode& node);
  PrefixPin(PrefixPin&& other) noexcept;
  PrefixPin& operator=(PrefixPin&& other) noexcept;
  ~PrefixPin() { reset(); }

  PrefixNode* node() const { return node_; }
  void reset();

 private:
  PrefixIndex* index_ = nullptr;
  PrefixNode* node_ = nullptr;
};

}  // namespace deltaserve
