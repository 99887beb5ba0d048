// Construction of expressions: every constructor brings its result into a normal form (choices
// sorted, concatenations right-associative), so that equal meanings mostly share an id and the
// automaton stays small.
#include "grammar/expr.h"

#include <algorithm>

#include "base/check.h"

namespace deltaserve {

ExprPool::ExprPool(size_t max_work)
    : max_work_(max_work), work_limit_(max_work), table_(1024, kNothing) {
  nodes_.push_back({});
  Node empty;
  empty.kind = Kind::kEmpty;
  empty.nullable = true;
  nodes_.push_back(empty);
}

void ExprPool::limit_work(size_t more, Clock::time_point until) {
  work_limit_ = std::min(max_work_, work() + more);
  until_ = until;
}

void ExprPool::check_time() const {
  if (until_ != Clock::time_point::max() && Clock::now() > until_) {
    throw GrammarTooComplex("it takes too long to compile");
  }
}

size_t ExprPool::memory() const {
  return nodes_.capacity() * sizeof(Node) + table_.capacity() * sizeof(ExprId) +
         children_.capacity() * sizeof(ExprId) + derivatives_.memory();
}

ExprId ExprPool::literal(std::string_view text) {
  ExprId result = kEmpty;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    result = concat(bytes(ByteSet::of(static_cast<uint8_t>(*c))), result);
  }
  return result;
}

ExprId ExprPool::concat(ExprId head, ExprId tail) {
  if (head == kNothing || tail == kNothing) {
    return kNothing;
  }
  if (head == kEmpty) {
    return tail;
  }
  if (tail == kEmpty) {
    return head;
  }
  // X* X* is X*: else every step of a rule such as e = x ("+" e)* would leave one more.
  const Node& first = nodes_[head];
  const ExprId next = nodes_[tail].kind == Kind::kConcat ? nodes_[tail].a : tail;
  if (next == head && first.kind == Kind::kRepeat && first.min == 0 && first.max == kUnbounded) {
    return tail;
  }
  if (nodes_[head].kind != Kind::kConcat) {
    return intern({.kind = Kind::kConcat, .a = head, .b = tail});
  }
  std::vector<ExprId> parts;
  while (nodes_[head].kind == Kind::kConcat) {
    parts.push_back(nodes_[head].a);
    head = nodes_[head].b;
  }
  parts.push_back(head);
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    tail = intern({.kind = Kind::kConcat, .a = *part, .b = tail});
  }
  return tail;
}

ExprId ExprPool::concat(std::span<const ExprId> parts) {
  ExprId result = kEmpty;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    result = concat(*part, result);
  }
  return result;
}

void ExprPool::flatten(Kind kind, ExprId a, std::vector<ExprId>& out) const {
  if (nodes_[a].kind == kind) {
    const auto inner = children(nodes_[a]);
    out.insert(out.end(), inner.begin(), inner.end());
  } else {
    out.push_back(a);
  }
}

ExprId ExprPool::alt(const std::vector<ExprId>& choices) {
  std::vector<ExprId> flat;
  for (const ExprId choice : choices) flatten(Kind::kAlt, choice, flat);
  ByteSet single;
  std::erase_if(flat, [&](ExprId id) {
    if (nodes_[id].kind == Kind::kBytes) single = single | sets_[nodes_[id].a];
    return id == kNothing || nodes_[id].kind == Kind::kBytes;
  });
  if (!single.empty()) {
    flat.push_back(bytes(single));
  }
  std::ranges::sort(flat);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (flat.size() > 1 && flat.front() == kEmpty &&
      std::ranges::any_of(flat.begin() + 1, flat.end(),
                          [this](ExprId id) { return nodes_[id].nullable; })) {
    flat.erase(flat.begin());
  }
  if (flat.empty()) {
    return kNothing;
  }
  return flat.size() == 1 ? flat.front() : intern_children(Kind::kAlt, flat);
}

ExprId ExprPool::repeat(ExprId item, int32_t min, int32_t max) {
  if (max == 0 || item == kEmpty) {
    return kEmpty;
  }
  if (item == kNothing) {
    return min == 0 ? kEmpty : kNothing;
  }
  if (min == 1 && max == 1) {
    return item;
  }
  return intern({.kind = Kind::kRepeat, .a = item, .min = min, .max = max});
}

ExprId ExprPool::both_unchecked(const std::vector<ExprId>& parts) {
  std::vector<ExprId> flat;
  for (const ExprId part : parts) flatten(Kind::kBoth, part, flat);
  std::ranges::sort(flat);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (flat.front() == kNothing) {
    return kNothing;
  }
  if (std::ranges::find(flat, kEmpty) != flat.end()) {
    const bool empty = std::ranges::all_of(flat, [this](ExprId id) { return nodes_[id].nullable; });
    return empty ? kEmpty : kNothing;
  }
  return flat.size() == 1 ? flat.front() : intern_children(Kind::kBoth, flat);
}

ExprId ExprPool::both(const std::vector<ExprId>& parts) {
  for (const ExprId part : parts) DS_CHECK(nodes_[part].regular, "both() of what is not regular");
  const ExprId result = both_unchecked(parts);
  return live(result) ? result : kNothing;
}

ExprId ExprPool::negate(ExprId a) {
  DS_CHECK(nodes_[a].regular, "negate() of what is not regular");
  if (nodes_[a].kind == Kind::kNot) {
    return nodes_[a].a;
  }
  const ExprId result = intern({.kind = Kind::kNot, .a = a});
  return live(result) ? result : kNothing;
}

ExprId ExprPool::ending_before(ExprId a, uint8_t end) {
  DS_CHECK(nodes_[a].regular, "ending_before() of what is not regular");
  if (a == kNothing) {
    return kNothing;
  }
  std::vector<ExprId> seen;
  ExprId rest = a;
  while (!nodes_[rest].nullable && std::ranges::find(seen, rest) == seen.end()) {
    seen.push_back(rest);
    rest = derive(rest, end);
  }
  const bool empty = nodes_[rest].nullable;
  return intern({.kind = Kind::kEnding, .a = a, .b = end, .min = empty ? 1 : 0});
}

uint32_t ExprPool::new_rule() {
  rules_.push_back({});
  return static_cast<uint32_t>(rules_.size() - 1);
}

uint32_t ExprPool::new_regular_rule(bool nullable) {
  rules_.push_back({.regular = true, .nullable = nullable});
  return static_cast<uint32_t>(rules_.size() - 1);
}

void ExprPool::define(uint32_t rule, ExprId body) {
  rules_.at(rule).body = body;
  rules_.at(rule).defined = true;
}

ExprId ExprPool::call(uint32_t rule) {
  return intern({.kind = Kind::kCall, .a = rule});
}

}  // namespace deltaserve
