// Grammars as expressions over bytes, in one pool where equal expressions have equal ids. Parsing
// is by derivatives (Brzozowski, "Derivatives of regular expressions", 1964): what may follow a
// byte is again an expression, so that the ids are the states of a lazily built automaton. A rule's
// call is unrolled when it is reached, which gives recursion (objects in objects) its stack: the
// concatenation of what is left to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "grammar/byte_set.h"
#include "grammar/derivative_table.h"
#include "grammar/expr_node.h"
#include "grammar/nesting.h"

namespace deltaserve {

class ExprPool {
 public:
  static constexpr ExprId kNothing = 0;  // matches no text
  static constexpr ExprId kEmpty = 1;    // matches the empty text
  static constexpr int32_t kUnbounded = -1;
  static constexpr size_t kMaxWork = size_t{1} << 20;

  explicit ExprPool(size_t max_work = kMaxWork);

  // From here on at most so much more work, and none after `until`: else GrammarTooComplex. A unit
  // of work is the memory of an expression; all together can never be more than max_work.
  using Clock = std::chrono::steady_clock;
  void limit_work(size_t more, Clock::time_point until = Clock::time_point::max());

  ExprId bytes(const ByteSet& set);
  ExprId literal(std::string_view text);
  ExprId concat(ExprId head, ExprId tail);
  ExprId concat(std::span<const ExprId> parts);
  ExprId alt(const std::vector<ExprId>& choices);
  ExprId alt(ExprId a, ExprId b) { return alt(std::vector<ExprId>{a, b}); }
  ExprId optional(ExprId a) { return alt(a, kEmpty); }
  ExprId repeat(ExprId item, int32_t min, int32_t max);  // max kUnbounded: no limit

  // Texts that all parts match, and texts that `a` does not match. The parts must be regular; what
  // comes out is kNothing if no text is left.
  ExprId both(const std::vector<ExprId>& parts);
  ExprId both(ExprId a, ExprId b) { return both(std::vector<ExprId>{a, b}); }
  ExprId negate(ExprId a);

  // Texts w without control bytes such that `a` matches w followed by `end`, any number of times.
  ExprId ending_before(ExprId a, uint8_t end);

  // A rule is called before or after it is defined. A rule that is `regular` stands for finitely
  // many states; whether it matches the empty text must then be said at once.
  uint32_t new_rule();
  uint32_t new_regular_rule(bool nullable);
  void define(uint32_t rule, ExprId body);
  ExprId call(uint32_t rule);

  // Once all rules are defined: finds out which may be empty and drops what can never end. Gives
  // the root without those parts. Errors: a rule that begins with itself, a root that matches no
  // text.
  Result<ExprId> close(ExprId root);

  bool nullable(ExprId a) const { return nodes_[a].nullable; }
  bool regular(ExprId a) const { return nodes_[a].regular; }
  // What may follow `byte`. The result may be an expression without any text: see live().
  ExprId derive(ExprId a, uint8_t byte);
  // Whether any text is left that `a` matches.
  bool live(ExprId a);
  // One byte of each class of bytes that `a` treats alike, and the class of every byte.
  void byte_classes(ExprId a, std::vector<uint8_t>& representatives,
                    std::array<uint8_t, 256>& class_of);

  // Whether all of `text` is matched.
  bool matches(ExprId a, std::string_view text);
  size_t size() const { return nodes_.size(); }
  size_t memory() const;  // bytes, about

 private:
  using Kind = ExprKind;
  using Node = ExprNode;
  using Rule = ExprRule;

  ExprId intern(const Node& node);
  ExprId intern_children(Kind kind, const std::vector<ExprId>& children);
  bool same(const Node& a, const Node& b) const;
  uint64_t hash(const Node& node) const;
  bool compute_nullable(const Node& node) const;
  bool compute_regular(const Node& node) const;
  void grow_table();
  void flatten(Kind kind, ExprId a, std::vector<ExprId>& out) const;
  std::span<const ExprId> children(const Node& node) const {
    return {children_.data() + node.a, node.b};
  }
  ExprId both_unchecked(const std::vector<ExprId>& parts);
  bool search_text(ExprId a);
  ExprId derive_new(const Node& node, uint8_t byte);
  ExprId derive_concat(Node node, uint8_t byte);
  ExprId derive_children(const Node& node, uint8_t byte);
  void collect_sets(ExprId a, std::vector<uint32_t>& sets);

  void settle_nullable();
  std::vector<uint8_t> productive_nodes();
  bool is_productive(const Node& node, const std::vector<uint8_t>& known) const;
  ExprId prune(ExprId a, const std::vector<uint8_t>& known,
               std::unordered_map<ExprId, ExprId>& done);
  ExprId rebuild(ExprId a, const std::vector<uint8_t>& known,
                 std::unordered_map<ExprId, ExprId>& done);
  struct LeftSplit;
  bool remove_left_recursion();  // after settle_nullable(); false for forms that it does not know
  bool split_left(ExprId a, uint32_t rule, const std::vector<uint8_t>& circles, LeftSplit& out);
  bool begins_with(ExprId a, uint32_t rule, const std::vector<uint8_t>& circles) const;
  std::vector<uint8_t> rules_in_circles() const;
  void first_rules(ExprId a, std::vector<uint32_t>& rules) const;

  size_t work() const { return nodes_.size() + children_.size() / 8 + derivatives_.size() / 8; }
  void check_time() const;

  size_t max_work_;
  size_t work_limit_;
  Clock::time_point until_ = Clock::time_point::max();
  int32_t nesting_ = 0;  // of the recursion that runs
  std::vector<Node> nodes_;
  std::vector<ExprId> table_;  // open addressing, a power of two; kNothing: free
  std::vector<ExprId> children_;
  std::vector<ByteSet> sets_;
  std::vector<Rule> rules_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> set_index_;
  DerivativeTable derivatives_;
  std::unordered_map<ExprId, bool> text_known_;  // of search_text
  std::vector<uint32_t> stamps_;                 // of collect_sets
  uint32_t stamp_ = 0;
};

}  // namespace deltaserve
