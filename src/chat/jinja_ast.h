// The tree of a compiled template. Immutable once parsed, so any number of renders share it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja_expr.h"
#include "chat/jinja_value.h"

namespace deltaserve::jinja {

namespace ast {

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
