// The rules of a grammar as a whole: which may be empty, and which can never end.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "grammar/expr.h"

namespace deltaserve {

// Starts from "not empty" and adds until nothing changes: the least fixed point.
void ExprPool::settle_nullable() {
  for (bool changed = true; std::exchange(changed, false);) {
    check_time();
    for (Node& node : nodes_) {
      if (!node.nullable && node.kind != Kind::kNot && compute_nullable(node)) {
        node.nullable = true;
        changed = true;
      }
    }
    for (Rule& rule : rules_) {
      if (!rule.nullable && nodes_[rule.body].nullable) {
        rule.nullable = true;
        changed = true;
      }
    }
  }
}

bool ExprPool::is_productive(const Node& node, const std::vector<uint8_t>& known) const {
  switch (node.kind) {
    case Kind::kNothing:
      return false;
    case Kind::kConcat:
      return known[node.a] != 0 && known[node.b] != 0;
    case Kind::kAlt:
      return std::ranges::any_of(children(node), [&](ExprId id) { return known[id] != 0; });
    case Kind::kRepeat:
      return node.min == 0 || known[node.a] != 0;
    case Kind::kCall:
      return rules_[node.a].regular || known[rules_[node.a].body] != 0;
    default:
      return true;
  }
}

std::vector<uint8_t> ExprPool::productive_nodes() {
  std::vector<uint8_t> known(nodes_.size(), 0);
  for (bool changed = true; std::exchange(changed, false);) {
    check_time();
    for (size_t id = 0; id < nodes_.size(); ++id) {
      if (known[id] == 0 && is_productive(nodes_[id], known)) {
        known[id] = 1;
        changed = true;
      }
    }
  }
  return known;
}

ExprId ExprPool::prune(ExprId a, const std::vector<uint8_t>& known,
                       std::unordered_map<ExprId, ExprId>& done) {
  if (known[a] == 0) {
    return kNothing;
  }
  if (const auto found = done.find(a); found != done.end()) {
    return found->second;
  }
  const ExprId result = rebuild(a, known, done);
  done.emplace(a, result);
  return result;
}

ExprId ExprPool::rebuild(ExprId a, const std::vector<uint8_t>& known,
                         std::unordered_map<ExprId, ExprId>& done) {
  const Node node = nodes_[a];
  switch (node.kind) {
    case Kind::kConcat: {
      std::vector<ExprId> parts;
      while (nodes_[a].kind == Kind::kConcat) {
        const ExprId tail = nodes_[a].b;
        parts.push_back(prune(nodes_[a].a, known, done));
        a = tail;
      }
      parts.push_back(prune(a, known, done));
      return concat(parts);
    }
    case Kind::kAlt: {
      std::vector<ExprId> parts(children(node).begin(), children(node).end());
      for (ExprId& part : parts) part = prune(part, known, done);
      return alt(parts);
    }
    case Kind::kRepeat:
      return repeat(prune(node.a, known, done), node.min, node.max);
    default:
      return a;
  }
}

// The rules whose calls may come first in a text of `a`.
void ExprPool::first_rules(ExprId a, std::vector<uint32_t>& rules) const {
  while (nodes_[a].kind == Kind::kConcat) {
    first_rules(nodes_[a].a, rules);
    if (!nodes_[nodes_[a].a].nullable) return;
    a = nodes_[a].b;
  }
  const Node& node = nodes_[a];
  switch (node.kind) {
    case Kind::kAlt:
      for (const ExprId child : children(node)) first_rules(child, rules);
      return;
    case Kind::kRepeat:
      first_rules(node.a, rules);
      return;
    case Kind::kCall:
      rules.push_back(node.a);
      return;
    default:
      return;
  }
}

Result<ExprId> ExprPool::close(ExprId root) {
  for (const Rule& rule : rules_) DS_CHECK(rule.defined, "a grammar rule is not defined");
  settle_nullable();
  derivatives_.clear();
  text_known_.clear();
  if (!remove_left_recursion()) {
    return invalid(
        "A rule of the grammar begins with itself behind a part that may be empty, or inside a "
        "repetition (left recursion).");
  }
  const std::vector<uint8_t> known = productive_nodes();
  std::unordered_map<ExprId, ExprId> done;
  for (Rule& rule : rules_) {
    if (!rule.regular) rule.body = prune(rule.body, known, done);
  }
  root = prune(root, known, done);
  if (root == kNothing) {
    return invalid("No text can satisfy this grammar.");
  }
  return root;
}

}  // namespace deltaserve
