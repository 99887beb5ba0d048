// The tree of a compiled template. Immutable once parsed, so any number of renders share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

enum class StatementKind : uint8_t {
  kData,
  kPrint,
  kIf,
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,
  kDo,
  kBreak,
  kContinue,
  kGeneration,
};

struct Statement {
  Statement(StatementKind statement_kind, uint32_t at_line) : kind(statement_kind), line(at_line) {}
  virtual ~Statement() = default;
  StatementKind kind;
  uint32_t line;
};
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

// What is assigned to: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  enum class Kind : uint8_t { kName, kAttribute, kTuple };
  Kind kind = Kind::kName;
  uint32_t id = 0;
  std::string attribute;
  std::vector<Target> items;
};

struct Data : Statement {
  Data(std::string data, uint32_t at_line)
      : Statement(StatementKind::kData, at_line), text(std::move(data), true) {}
  Text text;
};

// {{ a }} and {% do a %}.
struct ExprStatement : Statement {
  using Statement::Statement;
  ExprPtr expression;
};

struct If : Statement {
  explicit If(uint32_t at_line) : Statement(StatementKind::kIf, at_line) {}
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};

struct For : Statement {
  explicit For(uint32_t at_line) : Statement(StatementKind::kFor, at_line) {}
  Target target;
  ExprPtr iterable;
  ExprPtr condition;  // may be null
  Body body;
  Body otherwise;
};

struct Set : Statement {
  explicit Set(uint32_t at_line) : Statement(StatementKind::kSet, at_line) {}
  Target target;
  ExprPtr value;
};

struct SetBlock : Statement {
  explicit SetBlock(uint32_t at_line) : Statement(StatementKind::kSetBlock, at_line) {}
  Target target;
  ExprPtr filter;  // a chain of Filter without input, or null
  Body body;
};

struct Macro : Statement {
  explicit Macro(uint32_t at_line) : Statement(StatementKind::kMacro, at_line) {}
  std::string name;
  uint32_t id = 0;
  std::vector<uint32_t> parameters;
  std::vector<std::string> parameter_names;
  std::vector<ExprPtr> defaults;  // of the last parameters
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
  Body body;
};

struct CallBlock : Statement {
  explicit CallBlock(uint32_t at_line) : Statement(StatementKind::kCallBlock, at_line) {}
  std::unique_ptr<Call> call;
  std::unique_ptr<Macro> caller;
};

struct FilterBlock : Statement {
  explicit FilterBlock(uint32_t at_line) : Statement(StatementKind::kFilterBlock, at_line) {}
  ExprPtr filter;
  Body body;
};

struct With : Statement {
  explicit With(uint32_t at_line) : Statement(StatementKind::kWith, at_line) {}
  std::vector<std::pair<Target, ExprPtr>> assignments;
  Body body;
};

// {% generation %}: marks the assistant's text for training; here only a scope.
struct Generation : Statement {
  explicit Generation(uint32_t at_line) : Statement(StatementKind::kGeneration, at_line) {}
  Body body;
};

}  // namespace ast

// Numbers of the names with a special meaning, the first of Template::names.
enum SpecialName : uint32_t { kNameLoop, kNameCaller, kNameKwargs, kNameVarargs, kNameSelf };

struct Template {
  std::vector<std::string> names;
  ast::Body body;
};

}  // namespace deltaserve::jinja
