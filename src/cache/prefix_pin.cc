// Pins move; the index counts them.
#include "cache/prefix_pin.h"

#include <utility>

namespace deltaserve {

PrefixPin::PrefixPin(PrefixIndex& index, PrefixNode& node) : index_(&index), node_(&node) {
  index.pin(node);
}

PrefixPin::PrefixPin(PrefixPin&& other) noexcept
    : index_(other.index_), node_(std::exchange(other.node_, nullptr)) {}

PrefixPin& PrefixPin::operator=(PrefixPin&& other) noexcept {
  if (this == &other) return *this;
  reset();
  index_ = other.index_;
  node_ = std::exchange(other.node_, nullptr);
  return *this;
}

void PrefixPin::reset() {
  if (node_ != nullptr) index_->unpin(*std::exchange(node_, nullptr));
}

}  // namespace deltaserve
