// Invariants. A failed CHECK is a bug of ours, never a user's mistake: it throws, the engine loop
// catches it and fails that step's requests, and the process lives on.
#pragma once

#include <stdexcept>
#include <string>

namespace deltaserve {

struct InvariantError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void throw_invariant(const char* condition, const char* file, int line,
                                         const std::string& message) {
  throw InvariantError(std::string(file) + ":" + std::to_string(line) + ": " + condition +
                       (message.empty() ? "" : ": " + message));
}

}  // namespace deltaserve

#define DS_CHECK(condition, ...)                                                                 \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::deltaserve::throw_invariant(#condition, __FILE__, __LINE__, ::std::string{__VA_ARGS__}); \
  } while (false)
