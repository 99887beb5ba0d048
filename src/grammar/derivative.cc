// Derivatives, the classes of bytes that an expression tells apart, and whether an intersection or
// a complement has any text left.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "grammar/expr.h"

namespace deltaserve {

ExprId ExprPool::derive(ExprId a, uint8_t byte) {
  const Node node = nodes_[a];
  switch (node.kind) {
    case Kind::kNothing:
    case Kind::kEmpty:
      return kNothing;
    case Kind::kBytes:
      return sets_[node.a].contains(byte) ? kEmpty : kNothing;
    default:
      break;
  }
  if (const std::optional<ExprId> known = derivatives_.find(a, byte)) {
    return *known;
  }
  const Nesting nesting(nesting_);
  const ExprId result = derive_new(node, byte);
  derivatives_.add(a, byte, result);
  return result;
}

ExprId ExprPool::derive_new(const Node& node, uint8_t byte) {
  switch (node.kind) {
    case Kind::kConcat:
      return derive_concat(node, byte);
    case Kind::kAlt:
    case Kind::kBoth:
      return derive_children(node, byte);
    case Kind::kNot:
      return intern({.kind = Kind::kNot, .a = derive(node.a, byte)});
    case Kind::kRepeat: {
      const int32_t max = node.max == kUnbounded ? kUnbounded : node.max - 1;
      return concat(derive(node.a, byte), repeat(node.a, std::max(node.min - 1, 0), max));
    }
    case Kind::kEnding:
      if (byte >= kFirstControlByte) return kNothing;
      return ending_before(derive(node.a, byte), static_cast<uint8_t>(node.b));
    case Kind::kCall:
      DS_CHECK(rules_[node.a].defined, "a grammar rule is used before it is defined");
      return derive(rules_[node.a].body, byte);
    default:
      return kNothing;
  }
}

// A loop over the tail: it may be as long as a text, while heads nest only as deep as brackets.
ExprId ExprPool::derive_concat(Node node, uint8_t byte) {
  if (!nodes_[node.a].nullable) {
    return concat(derive(node.a, byte), node.b);
  }
  std::vector<ExprId> choices;
  while (true) {
    choices.push_back(concat(derive(node.a, byte), node.b));
    if (!nodes_[node.a].nullable) break;
    const Node tail = nodes_[node.b];
    if (tail.kind != Kind::kConcat) {
      choices.push_back(derive(node.b, byte));
      break;
    }
    node = tail;
  }
  return choices.size() == 1 ? choices.front() : alt(choices);
}

ExprId ExprPool::derive_children(const Node& node, uint8_t byte) {
  std::vector<ExprId> derived(children(node).begin(), children(node).end());
  for (ExprId& child : derived) child = derive(child, byte);
  if (node.kind == Kind::kAlt) {
    return alt(derived);
  }
  return both_unchecked(derived);
}

// Only heads are derived: a tail is part of the grammar as it was written, which has text.
bool ExprPool::live(ExprId a) {
  while (nodes_[a].kind == Kind::kConcat) a = nodes_[a].a;
  const Node node = nodes_[a];
  switch (node.kind) {
    case Kind::kNothing:
      return false;
    case Kind::kAlt:
      for (uint32_t i = 0; i < node.b; ++i) {
        if (live(children_[node.a + i])) return true;
      }
      return false;
    case Kind::kRepeat:
      return node.min == 0 || live(node.a);
    case Kind::kBoth:
    case Kind::kNot:
    case Kind::kEnding:
      return node.nullable || search_text(a);
    default:
      return true;
  }
}

// Searches depth first, from one derivative to the next, for one that matches the empty text. What
// is found holds for all on the way, so that following a text costs one search in all.
bool ExprPool::search_text(ExprId a) {
  if (const auto known = text_known_.find(a); known != text_known_.end()) {
    return known->second;
  }
  struct Step {
    ExprId id;
    std::vector<uint8_t> bytes;  // still to be tried
  };
  std::vector<Step> path;
  std::vector<ExprId> visited;
  const auto enter = [&](ExprId id) {
    std::array<uint8_t, 256> class_of;
    Step step{id, {}};
    byte_classes(id, step.bytes, class_of);
    path.push_back(std::move(step));
    visited.push_back(id);
    text_known_[id] = false;  // until found
  };
  enter(a);
  bool found = false;
  while (!path.empty() && !found) {
    if (path.back().bytes.empty()) {
      path.pop_back();
      continue;
    }
    const uint8_t byte = path.back().bytes.back();
    path.back().bytes.pop_back();
    const ExprId next = derive(path.back().id, byte);
    const Kind kind = nodes_[next].kind;
    if (kind != Kind::kBoth && kind != Kind::kNot && kind != Kind::kEnding) {
      found = live(next);
    } else if (nodes_[next].nullable) {
      found = true;
    } else if (const auto known = text_known_.find(next); known != text_known_.end()) {
      found = known->second;
    } else {
      enter(next);
    }
  }
  if (!found) {
    return false;
  }
  // States that were left behind may still lead somewhere: forget what was assumed of them.
  for (const ExprId id : visited) text_known_.erase(id);
  for (const Step& step : path) text_known_[step.id] = true;
  return true;
}

void ExprPool::collect_sets(ExprId a, std::vector<uint32_t>& sets) {
  const Nesting nesting(nesting_);
  while (nodes_[a].kind == Kind::kConcat) {
    collect_sets(nodes_[a].a, sets);
    if (!nodes_[nodes_[a].a].nullable) return;
    a = nodes_[a].b;
  }
  if (stamps_[a] == stamp_) {
    return;
  }
  stamps_[a] = stamp_;
  const Node& node = nodes_[a];
  switch (node.kind) {
    case Kind::kBytes:
      sets.push_back(node.a);
      return;
    case Kind::kAlt:
    case Kind::kBoth:
      for (const ExprId child : children(node)) collect_sets(child, sets);
      return;
    case Kind::kNot:
    case Kind::kRepeat:
    case Kind::kEnding:
      collect_sets(node.a, sets);
      return;
    case Kind::kCall:
      collect_sets(rules_[node.a].body, sets);
      return;
    default:
      return;
  }
}

void ExprPool::byte_classes(ExprId a, std::vector<uint8_t>& representatives,
                            std::array<uint8_t, 256>& class_of) {
  stamps_.resize(nodes_.size(), 0);
  ++stamp_;
  std::vector<uint32_t> sets;
  collect_sets(a, sets);
  std::ranges::sort(sets);
  sets.erase(std::ranges::unique(sets).begin(), sets.end());
  std::vector<ByteSet> classes = {ByteSet::all()};
  for (const uint32_t set : sets) {
    const size_t before = classes.size();
    for (size_t i = 0; i < before; ++i) {
      const ByteSet inside = classes[i] & sets_[set];
      if (inside.empty() || inside == classes[i]) continue;
      classes[i] = classes[i] & ~inside;
      classes.push_back(inside);
    }
  }
  representatives.clear();
  for (size_t i = 0; i < classes.size(); ++i) {
    representatives.push_back(classes[i].first());
    classes[i].for_each([&](uint8_t byte) { class_of[byte] = static_cast<uint8_t>(i); });
  }
}

bool ExprPool::matches(ExprId a, std::string_view text) {
  for (const char c : text) {
    a = derive(a, static_cast<uint8_t>(c));
    if (a == kNothing) return false;
  }
  return nodes_[a].nullable;
}

}  // namespace deltaserve
