// Control tokens by id, byte and text.
#include "chat/output_control.h"

#include <iterator>

#include "base/check.h"
#include "text/utf8.h"

namespace deltaserve {
namespace {

constexpr std::string_view kLiterals[] = {"<think>", "</think>", "<tool_call>", "</tool_call>"};

}  // namespace

namespace control {

char to_byte(ControlToken token) {
  DS_CHECK(token != ControlToken::kNone);
  return static_cast<char>(kThinkOpen + static_cast<int>(token) - 1);
}

std::string_view literal(char c) {
  DS_CHECK(is_control(c));
  return kLiterals[c - kThinkOpen];
}

std::string_view literal(ControlToken token) {
  return token == ControlToken::kNone ? std::string_view() : literal(to_byte(token));
}

std::string expand(std::string_view in) {
  std::string out;
  out.reserve(in.size());
  for (const char c : in) {
    if (is_control(c)) {
      out += literal(c);
    } else {
      out += c;
    }
  }
  return out;
}

void append_text(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (is_never_text(c)) {
      out += utf8::kReplacement;
    } else {
      out += c;
    }
  }
}

}  // namespace control

ControlTokenIds::ControlTokenIds(const Tokenizer& tokenizer) {
  for (size_t i = 0; i < std::size(kLiterals); ++i) {
    const auto id = tokenizer.token_to_id(kLiterals[i]);
    if (id && tokenizer.is_added(*id)) ids_.emplace_back(*id, static_cast<ControlToken>(i + 1));
  }
}

ControlToken ControlTokenIds::kind(int32_t id) const {
  for (const auto& [known, token] : ids_) {
    if (known == id) return token;
  }
  return ControlToken::kNone;
}

}  // namespace deltaserve
