// Rules that begin with themselves, which derivatives cannot follow, are rewritten: A = A x | b
// becomes A = b x*, and where the way back to A leads through other rules, their bodies are put in
// first (Paull's algorithm, as in Aho, Sethi and Ullman, "Compilers", section 4.3).
#include <algorithm>
#include <utility>

#include "grammar/expr.h"

namespace deltaserve {

namespace {

// Bodies that are put into each other may double with every rule.
constexpr size_t kMaxSplits = 50'000;

}  // namespace

struct ExprPool::LeftSplit {
  std::vector<ExprId> tails;
  std::vector<ExprId> others;
  size_t* num_splits;
};

std::vector<uint8_t> ExprPool::rules_in_circles() const {
  std::vector<std::vector<uint32_t>> firsts(rules_.size());
  for (size_t rule = 0; rule < rules_.size(); ++rule) {
    first_rules(rules_[rule].body, firsts[rule]);
  }
  // Peel off rules that begin with no rule that is left; what remains goes in a circle or leads
  // into one.
  std::vector<uint8_t> circles(rules_.size(), 1);
  for (bool changed = true; std::exchange(changed, false);) {
    check_time();
    for (size_t rule = 0; rule < rules_.size(); ++rule) {
      const auto is_peeled = [&](uint32_t first) { return circles[first] == 0; };
      if (circles[rule] != 0 && std::ranges::all_of(firsts[rule], is_peeled)) {
        circles[rule] = 0;
        changed = true;
      }
    }
  }
  return circles;
}

bool ExprPool::remove_left_recursion() {
  const std::vector<uint8_t> circles = rules_in_circles();
  size_t num_splits = 0;
  for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
    if (circles[rule] == 0) continue;
    LeftSplit split{.tails = {}, .others = {}, .num_splits = &num_splits};
    if (!split_left(rules_[rule].body, rule, circles, split)) return false;
    rules_[rule].body = alt(split.others);
    std::erase(split.tails, kEmpty);  // A = A says nothing
    if (!split.tails.empty()) {
      rules_[rule].body = concat(rules_[rule].body, repeat(alt(split.tails), 0, kUnbounded));
    }
  }
  const std::vector<uint8_t> left = rules_in_circles();
  return std::ranges::none_of(left, [](uint8_t in_circle) { return in_circle != 0; });
}

// Takes `a` apart into what follows a call of `rule` at its beginning and what begins otherwise.
// False where the call may stand behind a part that can be empty.
bool ExprPool::split_left(ExprId a, uint32_t rule, const std::vector<uint8_t>& circles,
                          LeftSplit& out) {
  if (++*out.num_splits > kMaxSplits) {
    throw GrammarTooComplex("its left recursion goes too many ways");
  }
  const Nesting nesting(nesting_);
  const Node node = nodes_[a];
  switch (node.kind) {
    case Kind::kAlt: {
      const std::vector<ExprId> choices(children(node).begin(), children(node).end());
      return std::ranges::all_of(
          choices, [&](ExprId choice) { return split_left(choice, rule, circles, out); });
    }
    case Kind::kCall:
      if (node.a == rule) {
        out.tails.push_back(kEmpty);
        return true;
      }
      if (node.a < rule && circles[node.a] != 0) {
        return split_left(rules_[node.a].body, rule, circles, out);
      }
      out.others.push_back(a);
      return true;
    case Kind::kConcat: {
      std::vector<uint32_t> firsts;
      first_rules(node.a, firsts);
      const auto matters = [&](uint32_t first) { return first <= rule && circles[first] != 0; };
      if (std::ranges::none_of(firsts, matters)) {
        out.others.push_back(a);
        return !nodes_[node.a].nullable || !begins_with(node.b, rule, circles);
      }
      if (nodes_[node.a].kind == Kind::kCall && nodes_[node.a].a == rule) {
        out.tails.push_back(node.b);
        return !nodes_[node.a].nullable || !begins_with(node.b, rule, circles);
      }
      LeftSplit head{.tails = {}, .others = {}, .num_splits = out.num_splits};
      if (!split_left(node.a, rule, circles, head)) return false;
      for (const ExprId tail : head.tails) out.tails.push_back(concat(tail, node.b));
      for (const ExprId other : head.others) out.others.push_back(concat(other, node.b));
      return !nodes_[node.a].nullable || !begins_with(node.b, rule, circles);
    }
    default:
      out.others.push_back(a);
      return !begins_with(a, rule, circles);
  }
}

bool ExprPool::begins_with(ExprId a, uint32_t rule, const std::vector<uint8_t>& circles) const {
  std::vector<uint32_t> firsts;
  first_rules(a, firsts);
  return std::ranges::any_of(firsts,
                             [&](uint32_t first) { return first <= rule && circles[first] != 0; });
}

}  // namespace deltaserve
