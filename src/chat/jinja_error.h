// The one exception of the interpreter. Inside it an error unwinds through dozens of mutually
// recursive functions, where a value would have to be checked at every call; ChatTemplate turns it
// into an Error value at its border, so it never leaves src/chat.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace deltaserve::jinja {

enum class FailureKind : uint8_t {
  kSyntax,     // the template does not compile
  kRaised,     // raise_exception()
  kUndefined,  // an operation on an undefined value
  kSecurity,   // what the sandbox forbids, such as list.append
  kType,       // Python would raise TypeError, ValueError, ...
  kLimit,      // steps, depth or size
};

struct TemplateFailure : std::runtime_error {
  TemplateFailure(FailureKind failure_kind, const std::string& message)
      : std::runtime_error(message), kind(failure_kind) {}
  FailureKind kind;
};

[[noreturn]] inline void fail_type(const std::string& message) {
  throw TemplateFailure(FailureKind::kType, message);
}

}  // namespace deltaserve::jinja
