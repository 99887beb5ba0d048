// See pre_tokenizer.h. The alternatives of the regex are tried in its order; what backtracking
// would find is written as direct rules.
#include "text/pre_tokenizer.h"

#include "text/utf8.h"

namespace deltaserve {
namespace {

constexpr std::string_view kMarksPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kNoMarksPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLongS = "\u017F";  // folds to s, so the regex takes it for one

bool is_newline(char c) {
  return c == '\r' || c == '\n';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The end of 's 't 're 've 'm 'll 'd in any case at text[begin] == '\'', or `begin` if none.
size_t contraction_end(std::string_view text, size_t begin) {
  const std::string_view rest = text.substr(begin + 1);
  if (rest.empty()) return begin;
  const char first = lower(rest[0]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
  if (rest.starts_with(kLongS)) return begin + 1 + kLongS.size();
  const char second = rest.size() > 1 ? lower(rest[1]) : '\0';
  const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                   (first == 'l' && second == 'l');
  return two ? begin + 3 : begin;
}

size_t skip_newlines(std::string_view text, size_t begin) {
  while (begin < text.size() && is_newline(text[begin])) ++begin;
  return begin;
}

}  // namespace

std::optional<PreTokenizer> PreTokenizer::for_pattern(std::string_view regex) {
  if (regex == kMarksPattern) return PreTokenizer(true);
  if (regex == kNoMarksPattern) return PreTokenizer(false);
  return std::nullopt;
}

PreTokenizer::PreTokenizer(bool marks_are_letters)
    : classes_(&UnicodeClasses::get()),
      letters_(marks_are_letters ? kLetter | kMark : kLetter),
      not_symbols_(static_cast<uint8_t>(letters_ | kNumber | kSpace)) {}

size_t PreTokenizer::skip_letters(std::string_view text, size_t begin) const {
  while (begin < text.size()) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + begin);
    if ((classes_->flags(character.code_point) & letters_) == 0) break;
    begin += character.length;
  }
  return begin;
}

size_t PreTokenizer::skip_symbols(std::string_view text, size_t begin) const {
  while (begin < text.size()) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + begin);
    if ((classes_->flags(character.code_point) & not_symbols_) != 0) break;
    begin += character.length;
  }
  return begin;
}

// text[begin] is white space that neither a word nor symbols took: \s*[\r\n]+|\s+(?!\S)|\s+
size_t PreTokenizer::space_piece_end(std::string_view text, size_t begin) const {
  size_t newline_end = begin;  // after the last newline of the run
  size_t last_begin = begin;   // the last space of the run
  size_t end = begin;
  while (end < text.size()) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + end);
    if ((classes_->flags(character.code_point) & kSpace) == 0) break;
    last_begin = end;
    end += character.length;
    if (is_newline(text[last_begin])) newline_end = end;
  }
  if (newline_end > begin) return newline_end;
  const bool before_text = end < text.size();  // the last space belongs to what follows
  return before_text && last_begin > begin ? last_begin : end;
}

size_t PreTokenizer::piece_end(std::string_view text, size_t begin) const {
  const utf8::Decoded first = utf8::decode_valid(text.data() + begin);
  const uint8_t flags = classes_->flags(first.code_point);
  const size_t second = begin + first.length;
  if ((flags & letters_) != 0) return skip_letters(text, second);
  if ((flags & kNumber) != 0) return second;
  if (text[begin] == '\'') {
    const size_t end = contraction_end(text, begin);
    if (end > begin) return end;
  }
  if (!is_newline(text[begin])) {
    const size_t end = skip_letters(text, second);
    if (end > second) return end;
  }
  if ((flags & kSpace) == 0) return skip_newlines(text, skip_symbols(text, second));
  if (text[begin] == ' ') {
    const size_t end = skip_symbols(text, second);
    if (end > second) return skip_newlines(text, end);
  }
  return space_piece_end(text, begin);
}

}  // namespace deltaserve
