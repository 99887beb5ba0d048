// An OutputParser fed with text in which special tokens are written out, for debugging and tests.
// Pieces may cut anywhere, inside a special token's text too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/output_parser.h"

namespace deltaserve {

struct SpecialText {
  enum class Role : uint8_t {
    kControl,  // of `token`
    kHidden,   // gives no text
    kEnd,      // ends the answer
  };
  std::string text;
  Role role = Role::kHidden;
  ControlToken token = ControlToken::kNone;
};

// The four control tokens alone.
std::vector<SpecialText> control_texts();

// Control tokens and special tokens of a vocabulary; `end_ids` end an answer.
std::vector<SpecialText> special_texts(const Tokenizer& tokenizer,
                                       const std::vector<int32_t>& end_ids);

class OutputTextParser {
 public:
  OutputTextParser(std::vector<SpecialText> specials, OutputOptions options,
                   ToolIdGenerator ids = ToolIdGenerator());

  // What comes after an ending token is ignored.
  std::vector<OutputEvent> push(std::string_view piece);
  std::vector<OutputEvent> finish(OutputEnd end);

  bool ended() const { return ended_; }  // an ending token has come

 private:
  std::vector<OutputEvent> run(bool at_end);
  std::vector<OutputEvent> take_special(const SpecialText& special);

  std::vector<SpecialText> specials_;
  OutputParser parser_;
  std::string held_;  // what may become a special token
  bool ended_ = false;
};

}  // namespace deltaserve
