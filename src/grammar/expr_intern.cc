// Equal expressions get equal ids: a table of all nodes by their hash.
#include <algorithm>
#include <utility>

#include "grammar/expr.h"

namespace deltaserve {
namespace {

constexpr uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xBF58476D1CE4E5B9ULL;
}

}  // namespace

uint64_t ExprPool::hash(const Node& node) const {
  uint64_t hash = mix(static_cast<uint64_t>(node.kind), static_cast<uint32_t>(node.min));
  hash = mix(hash, static_cast<uint32_t>(node.max));
  if (node.kind == Kind::kAlt || node.kind == Kind::kBoth) {
    for (const ExprId child : children(node)) hash = mix(hash, child);
    return hash;
  }
  return mix(mix(hash, node.a), node.b);
}

bool ExprPool::same(const Node& a, const Node& b) const {
  if (a.kind != b.kind || a.min != b.min || a.max != b.max) {
    return false;
  }
  if (a.kind == Kind::kAlt || a.kind == Kind::kBoth) {
    return std::ranges::equal(children(a), children(b));
  }
  return a.a == b.a && a.b == b.b;
}

void ExprPool::grow_table() {
  std::vector<ExprId> table(table_.size() * 2, kNothing);
  for (ExprId id = kEmpty + 1; id < nodes_.size(); ++id) {
    size_t slot = hash(nodes_[id]) & (table.size() - 1);
    while (table[slot] != kNothing) slot = (slot + 1) & (table.size() - 1);
    table[slot] = id;
  }
  table_ = std::move(table);
}

ExprId ExprPool::intern(const Node& node) {
  size_t slot = hash(node) & (table_.size() - 1);
  while (table_[slot] != kNothing) {
    if (same(nodes_[table_[slot]], node)) {
      return table_[slot];
    }
    slot = (slot + 1) & (table_.size() - 1);
  }
  if (work() >= work_limit_) {
    throw GrammarTooComplex("it needs too many states");
  }
  if (nodes_.size() % 1024 == 0) {
    check_time();
  }
  const auto id = static_cast<ExprId>(nodes_.size());
  nodes_.push_back(node);
  nodes_[id].regular = compute_regular(node);
  nodes_[id].nullable = compute_nullable(node);
  table_[slot] = id;
  if (nodes_.size() * 2 > table_.size()) {
    grow_table();
  }
  return id;
}

// The children are stored first and dropped again if the node exists already.
ExprId ExprPool::intern_children(Kind kind, const std::vector<ExprId>& children) {
  Node node;
  node.kind = kind;
  node.a = static_cast<uint32_t>(children_.size());
  node.b = static_cast<uint32_t>(children.size());
  children_.insert(children_.end(), children.begin(), children.end());
  const size_t before = nodes_.size();
  const ExprId id = intern(node);
  if (nodes_.size() == before) {
    children_.resize(node.a);
  }
  return id;
}

bool ExprPool::compute_nullable(const Node& node) const {
  const auto empty = [this](ExprId id) { return nodes_[id].nullable; };
  switch (node.kind) {
    case Kind::kEmpty:
      return true;
    case Kind::kConcat:
      return empty(node.a) && empty(node.b);
    case Kind::kAlt:
      return std::ranges::any_of(children(node), empty);
    case Kind::kBoth:
      return std::ranges::all_of(children(node), empty);
    case Kind::kNot:
      return !empty(node.a);
    case Kind::kRepeat:
      return node.min == 0 || empty(node.a);
    case Kind::kEnding:
      return node.min != 0;  // found when it was made
    case Kind::kCall:
      return rules_[node.a].nullable;
    default:
      return false;
  }
}

bool ExprPool::compute_regular(const Node& node) const {
  switch (node.kind) {
    case Kind::kConcat:
      return nodes_[node.a].regular && nodes_[node.b].regular;
    case Kind::kAlt:
      return std::ranges::all_of(children(node), [this](ExprId id) { return nodes_[id].regular; });
    case Kind::kRepeat:
      return nodes_[node.a].regular;
    case Kind::kCall:
      return rules_[node.a].regular;
    default:
      return true;
  }
}

ExprId ExprPool::bytes(const ByteSet& set) {
  if (set.empty()) {
    return kNothing;
  }
  uint64_t key = 0;
  for (const uint64_t word : set.words()) key = mix(key, word);
  std::vector<uint32_t>& known = set_index_[key];
  for (const uint32_t index : known) {
    if (sets_[index] == set) {
      return intern({.kind = Kind::kBytes, .a = index});
    }
  }
  known.push_back(static_cast<uint32_t>(sets_.size()));
  sets_.push_back(set);
  return intern({.kind = Kind::kBytes, .a = known.back()});
}

}  // namespace deltaserve
