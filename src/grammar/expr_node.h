// How an ExprPool holds its expressions.
#pragma once

#include <cstdint>

namespace deltaserve {

using ExprId = uint32_t;

enum class ExprKind : uint8_t {
  kNothing,
  kEmpty,
  kBytes,   // a: index of the set
  kConcat,  // a: head, b: tail
  kAlt,     // a: first child in children_, b: how many
  kBoth,    // likewise
  kNot,     // a
  kRepeat,  // a: item, min, max
  kEnding,  // a: text, b: the byte
  kCall,    // a: rule
};

struct ExprNode {
  ExprKind kind = ExprKind::kNothing;
  bool nullable = false;
  bool regular = true;
  uint32_t a = 0;
  uint32_t b = 0;
  int32_t min = 0;
  int32_t max = 0;
};

struct ExprRule {
  ExprId body = 0;  // ExprPool::kNothing
  bool defined = false;
  bool regular = false;
  bool nullable = false;
};

}  // namespace deltaserve
