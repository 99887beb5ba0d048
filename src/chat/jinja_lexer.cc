// The lexer. Outside of tags it looks for the next "{{", "{%" or "{#"; the signs beside a tag and
// the two strip options decide which white space around it is dropped.
#include "chat/jinja_lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja_number.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

// All line ends as "\n", without the last one: jinja2 keeps no trailing newline.
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') {
        ++i;
      }
    } else {
      out.push_back(source[i]);
    }
  }
  if (!out.empty() && out.back() == '\n') {
    out.pop_back();
  }
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize_newlines(source)) {}

  std::vector<Token> run() {
    while (position_ < source_.size()) {
      lex_root();
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(position_); }
  bool at(std::string_view text) const { return rest().starts_with(text); }

  void add(TokenKind kind, std::string text) {
    Token token;
    token.kind = kind;
    token.line = line_;
    token.text = std::move(text);
    tokens_.push_back(std::move(token));
  }

  // Moves on by `count` bytes, counting lines.
  void advance(size_t count) {
    const std::string_view passed = rest().substr(0, count);
    line_ += static_cast<uint32_t>(std::count(passed.begin(), passed.end(), '\n'));
    if (!passed.empty()) {
      line_starting_ = passed.back() == '\n';
    }
    position_ += count;
  }

  size_t spaces_at(size_t offset) const {
    const std::string_view text = rest().substr(offset);
    return strip_range(text, nullptr, true, false).begin;
  }

  size_t find_tag() const {
    for (size_t i = position_; i + 1 < source_.size(); ++i) {
      if (source_[i] == '{' &&
          (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#')) {
        return i;
      }
    }
    return std::string::npos;
  }

  // Adds the data before a tag after the strip that the tag's sign asks for.
  void add_data(std::string_view text, char sign, bool is_variable, bool line_starting) {
    size_t keep = text.size();
    if (sign == '-') {
      keep = strip_range(text, nullptr, false, true).end;
    } else if (sign != '+' && !is_variable) {
      const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
      const std::string_view tail = text.substr(line_begin);
      if ((line_begin > 0 || line_starting) && !tail.empty() &&
          strip_range(tail, nullptr, true, false).begin == tail.size()) {
        keep = line_begin;
      }
    }
    if (keep > 0) {
      add(TokenKind::kData, std::string(text.substr(0, keep)));
    }
  }

  static bool is_sign(char c) { return c == '-' || c == '+'; }
  char byte_at(size_t offset) const {
    return position_ + offset < source_.size() ? source_[position_ + offset] : '\0';
  }

  void lex_root() {
    const size_t tag = find_tag();
    if (tag == std::string::npos) {
      add(TokenKind::kData, source_.substr(position_));
      advance(source_.size() - position_);
      return;
    }
    const std::string text = source_.substr(position_, tag - position_);
    const bool line_starting = line_starting_;
    const char opening = source_[tag + 1];
    const char next = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const char sign = is_sign(next) ? next : '\0';
    add_data(text, sign, opening == '{', line_starting);
    advance(text.size());
    if (opening == '%') {
      if (const size_t raw = raw_begin_length(); raw > 0) {
        advance(raw);
        lex_raw();
        return;
      }
    }
    advance(sign != '\0' ? 3 : 2);
    if (opening == '#') {
      lex_comment();
    } else {
      lex_tag(opening == '{');
    }
  }

  // Length of "{% raw %}" here with its signs, 0 if it is another tag. No newline is trimmed after
  // it, as in jinja2.
  size_t raw_begin_length() const {
    size_t offset = 2;
    if (is_sign(byte_at(offset))) {
      ++offset;
    }
    offset += spaces_at(offset);
    if (!rest().substr(offset).starts_with("raw")) {
      return 0;
    }
    offset += 3;
    offset += spaces_at(offset);
    if (rest().substr(offset).starts_with("-%}")) {
      return offset + 3 + spaces_at(offset + 3);
    }
    return rest().substr(offset).starts_with("%}") ? offset + 2 : 0;
  }

  void lex_raw() {
    const uint32_t begin_line = line_;
    for (size_t i = position_; i + 1 < source_.size(); ++i) {
      if (source_[i] != '{' || source_[i + 1] != '%') {
        continue;
      }
      size_t offset = i - position_ + 2;
      const char sign = is_sign(byte_at(offset)) ? byte_at(offset) : '\0';
      offset += sign != '\0' ? 1 : 0;
      offset += spaces_at(offset);
      if (!rest().substr(offset).starts_with("endraw")) {
        continue;
      }
      offset += 6;
      offset += spaces_at(offset);
      const size_t close = closing_length(offset, "%}", true);
      if (close == 0) {
        continue;
      }
      const std::string text = source_.substr(position_, i - position_);
      add_data(text, sign, false, line_starting_);
      advance(offset + close);
      return;
    }
    fail_syntax(begin_line, "Missing end of raw directive");
  }

  void lex_comment() {
    const uint32_t begin_line = line_;
    for (size_t offset = 0; position_ + offset + 1 < source_.size(); ++offset) {
      const size_t close = closing_length(offset, "#}", true);
      if (close > 0) {
        advance(offset + close);
        return;
      }
    }
    fail_syntax(begin_line, "Missing end of comment tag");
  }

  // Length of the end mark at `offset` with its sign and the white space that it takes along; 0 if
  // there is none. `trims`: the mark accepts "+" and drops a newline.
  size_t closing_length(size_t offset, std::string_view mark, bool trims) const {
    const std::string_view text = rest().substr(std::min(offset, rest().size()));
    if (trims && text.starts_with("+") && text.substr(1).starts_with(mark)) {
      return 1 + mark.size();
    }
    if (text.starts_with("-") && text.substr(1).starts_with(mark)) {
      return 1 + mark.size() + spaces_at(offset + 1 + mark.size());
    }
    if (!text.starts_with(mark)) {
      return 0;
    }
    const bool newline = trims && text.substr(mark.size()).starts_with("\n");
    return mark.size() + (newline ? 1 : 0);
  }

  void lex_tag(bool is_variable) {
    add(is_variable ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, "");
    std::string open;  // closing brackets that are due
    while (position_ < source_.size()) {
      if (open.empty()) {
        const size_t close = closing_length(0, is_variable ? "}}" : "%}", !is_variable);
        if (close > 0) {
          add(is_variable ? TokenKind::kVariableEnd : TokenKind::kBlockEnd, "");
          advance(close);
          return;
        }
      }
      if (const size_t spaces = spaces_at(0); spaces > 0) {
        advance(spaces);
      } else {
        lex_token(open);
      }
    }
  }

  void lex_token(std::string& open) {
    const char c = source_[position_];
    const bool after_dot = position_ > 0 && source_[position_ - 1] == '.';
    if (const NumberToken number = scan_number(rest(), after_dot); number.length > 0) {
      lex_number(number);
    } else if (is_word(utf8::decode_valid(source_.data() + position_).code_point)) {
      lex_name();
    } else if (c == '\'' || c == '"') {
      lex_string(c);
    } else {
      lex_operator(open);
    }
  }

  void lex_number(const NumberToken& number) {
    add(number.is_float ? TokenKind::kFloat : TokenKind::kInteger,
        std::string(rest().substr(0, number.length)));
    Token& token = tokens_.back();
    if (number.is_float) {
      token.floating = number.floating;
    } else if (number.integer) {
      token.integer = *number.integer;
    } else {
      fail_syntax(line_, fmt::format("integer {} is out of range", token.text));
    }
    advance(number.length);
  }

  void lex_name() {
    size_t length = 0;
    while (position_ + length < source_.size()) {
      const utf8::Decoded c = utf8::decode_valid(source_.data() + position_ + length);
      if (!is_word(c.code_point)) {
        break;
      }
      length += c.length;
    }
    std::string name(rest().substr(0, length));
    const char32_t first = utf8::decode_valid(name.data()).code_point;
    if (first != '_' && !is_alpha(first)) {
      fail_syntax(line_, "Invalid character in identifier");
    }
    add(TokenKind::kName, std::move(name));
    advance(length);
  }

  void lex_string(char mark) {
    size_t end = position_ + 1;
    while (end < source_.size() && source_[end] != mark) {
      end += source_[end] == '\\' ? 2 : 1;
    }
    if (end >= source_.size()) {
      fail_syntax(line_, "a string literal does not end");
    }
    const std::string_view literal =
        std::string_view(source_).substr(position_ + 1, end - position_ - 1);
    add(TokenKind::kString, unescape(literal, line_));
    advance(end + 1 - position_);
  }

  void lex_operator(std::string& open) {
    constexpr std::string_view kOperators[] = {"**", "//", "==", "!=", ">=", "<=", "+", "-", "/",
                                               "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                               ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [this](std::string_view symbol) { return at(symbol); });
    if (found == std::end(kOperators)) {
      const utf8::Decoded c = utf8::decode_valid(source_.data() + position_);
      fail_syntax(line_, fmt::format("unexpected char '{}'", rest().substr(0, c.length)));
    }
    const char symbol = found->front();
    if (*found == "{" || *found == "(" || *found == "[") {
      open.push_back(symbol == '{' ? '}' : (symbol == '(' ? ')' : ']'));
    } else if (*found == "}" || *found == ")" || *found == "]") {
      if (open.empty() || open.back() != symbol) {
        fail_syntax(line_, fmt::format("unexpected '{}'", symbol));
      }
      open.pop_back();
    }
    add(TokenKind::kOperator, std::string(*found));
    advance(found->size());
  }

  std::string source_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace deltaserve::jinja
