// The expressions of a compiled template: nodes of the tree that jinja_ast.h describes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_operators.h"
#include "chat/jinja_value.h"

namespace deltaserve::jinja {

struct FilterEntry;
struct TestEntry;

namespace ast {

enum class ExprKind : uint8_t {
  kConst,
  kName,
  kList,
  kTuple,
  kDict,
  kAttribute,
  kItem,
  kSlice,
  kCall,
  kFilter,
  kTest,
  kNot,
  kNegate,
  kPlus,
  kBinary,
  kConcat,
  kCompare,
  kAnd,
  kOr,
  kConditional,
};

struct Expr {
  Expr(ExprKind expr_kind, uint32_t at_line) : kind(expr_kind), line(at_line) {}
  virtual ~Expr() = default;
  ExprKind kind;
  uint32_t line;
  uint32_t depth = 1;  // of the tree below and including this node
};
using ExprPtr = std::unique_ptr<Expr>;

struct Const : Expr {
  Const(Value constant, uint32_t at_line)
      : Expr(ExprKind::kConst, at_line), value(std::move(constant)) {}
  Value value;
};

struct Name : Expr {
  Name(uint32_t name_id, uint32_t at_line) : Expr(ExprKind::kName, at_line), id(name_id) {}
  uint32_t id;  // index into Template::names
};

// List, tuple, concatenation by ~.
struct Items : Expr {
  using Expr::Expr;
  std::vector<ExprPtr> items;
};

struct DictLiteral : Expr {
  explicit DictLiteral(uint32_t at_line) : Expr(ExprKind::kDict, at_line) {}
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};

struct Attribute : Expr {
  explicit Attribute(uint32_t at_line) : Expr(ExprKind::kAttribute, at_line) {}
  ExprPtr object;
  std::string name;
};

struct Item : Expr {
  explicit Item(uint32_t at_line) : Expr(ExprKind::kItem, at_line) {}
  ExprPtr object;
  ExprPtr key;  // a Slice for a[b:c]
};

struct Slice : Expr {
  explicit Slice(uint32_t at_line) : Expr(ExprKind::kSlice, at_line) {}
  ExprPtr start, stop, step;  // each may be null
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star;         // *args, may be null
  ExprPtr double_star;  // **kwargs, may be null
};

struct Call : Expr {
  explicit Call(uint32_t at_line) : Expr(ExprKind::kCall, at_line) {}
  ExprPtr callee;
  CallArguments arguments;
};

struct Filter : Expr {
  explicit Filter(uint32_t at_line) : Expr(ExprKind::kFilter, at_line) {}
  ExprPtr input;  // null for the head of a filter block
  std::string name;
  const FilterEntry* entry = nullptr;  // null: unknown, an error where it is reached
  CallArguments arguments;
};

struct Test : Expr {
  explicit Test(uint32_t at_line) : Expr(ExprKind::kTest, at_line) {}
  ExprPtr input;
  std::string name;
  const TestEntry* entry = nullptr;
  CallArguments arguments;
};

struct Unary : Expr {
  using Expr::Expr;
  ExprPtr operand;
};

struct Binary : Expr {
  Binary(BinaryOp operation, uint32_t at_line) : Expr(ExprKind::kBinary, at_line), op(operation) {}
  BinaryOp op;
  ExprPtr left, right;
};

struct Compare : Expr {
  explicit Compare(uint32_t at_line) : Expr(ExprKind::kCompare, at_line) {}
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};

// `and`, `or`.
struct Logical : Expr {
  using Expr::Expr;
  ExprPtr left, right;
};

struct Conditional : Expr {
  explicit Conditional(uint32_t at_line) : Expr(ExprKind::kConditional, at_line) {}
  ExprPtr condition, then, otherwise;  // otherwise may be null
};

}  // namespace ast
}  // namespace deltaserve::jinja
