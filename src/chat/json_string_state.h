// Whether JSON that is still arriving has come to a place within a string. A line break ends a
// string: it cannot be part of one, so the closing quote is missing.
#pragma once

#include <string_view>

namespace deltaserve {

class JsonStringState {
 public:
  void read(std::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        in_string_ = escaped_ = false;
      } else if (escaped_) {
        escaped_ = false;
      } else if (c == '"') {
        in_string_ = !in_string_;
      } else {
        escaped_ = in_string_ && c == '\\';
      }
    }
  }

  bool in_string() const { return in_string_; }

 private:
  bool in_string_ = false;
  bool escaped_ = false;  // the next character belongs to an escape
};

}  // namespace deltaserve
