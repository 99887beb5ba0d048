// The parts of JSON as a model may write it: strings, numbers, any value, and the white space
// between them.
#pragma once

#include <optional>

#include "grammar/char_set.h"
#include "grammar/expr.h"

namespace deltaserve {

class JsonText {
 public:
  explicit JsonText(ExprPool& pool);

  // White space where JSON allows it, bounded so that a model cannot write it for ever.
  ExprId space() const { return space_; }
  ExprId quoted(ExprId characters);  // with its two quotation marks

  // One character inside a string: in all the ways that JSON has to write it.
  ExprId any_character() const { return any_character_; }
  // One character of a set, written in one way: as itself, or escaped where it has to be.
  ExprId character(const CharSet& set);

  ExprId string();   // any string
  ExprId number();   // any number
  ExprId integer();  // without fraction and exponent
  ExprId value();    // anything
  ExprId object();   // any object

  // `key`: a whole string with quotation marks.
  ExprId member(ExprId key, ExprId value);
  ExprId comma() const { return comma_; }
  // Items separated by commas between two brackets; `items` may be empty.
  ExprId bracketed(char open, ExprId items, char close);
  // item (comma item)*, min to max of them; max may be ExprPool::kUnbounded.
  ExprId list(ExprId item, int32_t min, int32_t max);

 private:
  ExprPool* pool_;
  CharSet plain_;  // what a string may hold without an escape
  ExprId space_;
  ExprId comma_;
  ExprId colon_;
  ExprId any_character_;
  std::optional<uint32_t> value_rule_;
};

}  // namespace deltaserve
