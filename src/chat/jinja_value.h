// Values of the template language: Python's scalars, strings, lists, tuples and dicts, the objects
// that jinja2 adds, and "undefined". Values are small and shared; all but namespaces, loops and
// iterators are immutable, as the sandbox of Hugging Face's environment forbids mutation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "chat/jinja_text.h"

namespace deltaserve::jinja {

// Python's integers have no bound; 128 bits hold every 64-bit JSON number and sums of them. What
// does not fit is an error, never a wrapped result.
using Int = __int128;

enum class Kind : uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kDictView,  // keys(), values(), items()
  kRange,
  kIterator,  // generators: consumed once
  kNamespace,
  kLoop,
  kMacro,
  kFunction,  // a global such as range
  kMethod,    // bound to a value
  kJoiner,
  kCycler,
};

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct UndefinedObject;
struct StringObject;
struct ListObject;
struct DictObject;
struct RangeObject;
struct IteratorObject;
struct NamespaceObject;
struct LoopObject;
struct MacroObject;
struct FunctionObject;
struct MethodObject;
struct JoinerObject;
struct CyclerObject;

class Value {
 public:
  Value() : number_(0) {}  // None
  explicit Value(Kind kind, std::shared_ptr<Object> object)
      : kind_(kind), number_(0), object_(std::move(object)) {}

  static Value boolean(bool value, bool from_template = true) {
    return Value(Kind::kBool, value ? 1 : 0, from_template);
  }
  static Value integer(Int value, bool from_template = true) {
    return Value(Kind::kInt, value, from_template);
  }
  static Value floating(double value, bool from_template = true) {
    Value result(Kind::kFloat, 0, from_template);
    result.floating_ = value;
    return result;
  }
  static Value none(bool from_template) { return Value(Kind::kNone, 0, from_template); }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  // bool, int: what Python's isinstance(x, int) accepts.
  bool is_integral() const { return kind_ == Kind::kBool || kind_ == Kind::kInt; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }

  // Whether a printed scalar counts as the template's text. Containers know it themselves.
  bool from_template() const { return from_template_; }

  bool as_bool() const { return number_ != 0; }
  Int as_int() const { return number_; }
  double as_float() const {
    return kind_ == Kind::kFloat ? floating_ : static_cast<double>(number_);
  }

  const Text& text() const;
  std::string_view bytes() const { return text().bytes(); }

  // The object behind a value of the matching kind; the caller has looked at kind().
  template <typename T>
  T& get() const {
    return static_cast<T&>(*object_);
  }
  const std::shared_ptr<Object>& object() const { return object_; }

  // Nesting of containers below and including this one; 0 for scalars.
  uint32_t depth() const;

 private:
  Value(Kind kind, Int number, bool from_template)
      : kind_(kind), from_template_(from_template), number_(number) {}

  Kind kind_ = Kind::kNone;
  bool from_template_ = true;
  union {
    Int number_;
    double floating_;
  };
  std::shared_ptr<Object> object_;
};

// "str object", "None": how jinja2's messages name a value's type.
std::string type_description(const Value& value);
// "str", "NoneType": how Python's messages do.
std::string_view type_name(const Value& value);

}  // namespace deltaserve::jinja
