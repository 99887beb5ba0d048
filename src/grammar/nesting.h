// Keeps recursions over expressions from running out of stack: rules call rules, and groups stand
// in groups, as deep as a client likes.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace deltaserve {

// A grammar that needs more memory or time than it may have, or nests too deeply: what() says
// which, as the end of a sentence. Caught where grammars are compiled or run.
struct GrammarTooComplex : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One frame of a recursion that counts its depth. Throws GrammarTooComplex.
class Nesting {
 public:
  explicit Nesting(int32_t& depth) : depth_(depth) {
    if (depth_ >= kMaxDepth) {
      throw GrammarTooComplex("its rules and groups are nested too deeply");
    }
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static constexpr int32_t kMaxDepth = 5000;  // of up to a kilobyte each
  int32_t& depth_;
};

}  // namespace deltaserve
