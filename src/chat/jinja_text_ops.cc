// The text operations that filters and methods share, each keeping the origin of what it keeps.
#include <algorithm>

#include "chat/jinja_methods.h"
#include "chat/jinja_operators.h"
#include "chat/jinja_print.h"
#include "chat/jinja_unicode.h"

namespace deltaserve::jinja {
namespace {

// Byte ranges of the parts of a split, in order.
using Ranges = std::vector<ByteRange>;

const Text& separator_of(const Value& separator) {
  if (!separator.is_string()) {
    fail_type("must be str or None, not " + std::string(type_name(separator)));
  }
  if (separator.text().empty()) {
    fail_type("empty separator");
  }
  return separator.text();
}

std::vector<Value> to_values(Runtime& runtime, const Text& text, const Ranges& ranges) {
  std::vector<Value> parts;
  parts.reserve(ranges.size());
  for (const ByteRange& range : ranges) {
    parts.push_back(runtime.string(text.slice(range.begin, range.end)));
  }
  return parts;
}

Ranges words_from_left(std::string_view text, int64_t limit) {
  Ranges ranges;
  size_t begin = strip_range(text, nullptr, true, false).begin;
  while (begin < text.size()) {
    if (limit >= 0 && static_cast<int64_t>(ranges.size()) == limit) {
      ranges.push_back({begin, text.size()});
      return ranges;
    }
    size_t end = begin;
    while (end < text.size()) {
      const utf8::Decoded c = utf8::decode_valid(text.data() + end);
      if (is_space(c.code_point)) {
        break;
      }
      end += c.length;
    }
    ranges.push_back({begin, end});
    begin = end + strip_range(text.substr(end), nullptr, true, false).begin;
  }
  return ranges;
}

Ranges words_from_right(std::string_view text, int64_t limit) {
  const Ranges words = words_from_left(text, -1);
  if (limit < 0 || static_cast<int64_t>(words.size()) <= limit) {
    return words;
  }
  const size_t merged = words.size() - static_cast<size_t>(limit);
  Ranges ranges{{0, words[merged - 1].end}};
  ranges.insert(ranges.end(), words.begin() + static_cast<std::ptrdiff_t>(merged), words.end());
  return ranges;
}

// Offsets of the occurrences of `needle` that do not overlap, from the left.
std::vector<size_t> occurrences(std::string_view text, std::string_view needle, int64_t limit) {
  std::vector<size_t> found;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(found.size()) < limit) {
    const size_t at = find_text(text, needle, begin);
    if (at == std::string_view::npos) {
      break;
    }
    found.push_back(at);
    begin = at + needle.size();
  }
  return found;
}

}  // namespace

std::vector<Value> split_text(Runtime& runtime, const Text& text, const Value* separator,
                              int64_t limit) {
  runtime.charge_bytes(text.size());
  const std::string_view bytes = text.bytes();
  if (separator == nullptr || separator->is_none()) {
    return to_values(runtime, text, words_from_left(bytes, limit));
  }
  const Text& mark = separator_of(*separator);
  Ranges ranges;
  size_t begin = 0;
  for (const size_t at : occurrences(bytes, mark.bytes(), limit)) {
    ranges.push_back({begin, at});
    begin = at + mark.size();
  }
  ranges.push_back({begin, bytes.size()});
  return to_values(runtime, text, ranges);
}

std::vector<Value> split_text_from_right(Runtime& runtime, const Text& text, const Value* separator,
                                         int64_t limit) {
  runtime.charge_bytes(text.size());
  const std::string_view bytes = text.bytes();
  if (separator == nullptr || separator->is_none()) {
    return to_values(runtime, text, words_from_right(bytes, limit));
  }
  const Text& mark = separator_of(*separator);
  // From the right is from the left in mirrored texts.
  const std::string mirrored(bytes.rbegin(), bytes.rend());
  const std::string mirrored_mark(mark.bytes().rbegin(), mark.bytes().rend());
  Ranges ranges;
  size_t end = bytes.size();
  for (const size_t at : occurrences(mirrored, mirrored_mark, limit)) {
    const size_t begin = bytes.size() - at - mark.size();
    ranges.push_back({begin + mark.size(), end});
    end = begin;
  }
  ranges.push_back({0, end});
  std::reverse(ranges.begin(), ranges.end());
  return to_values(runtime, text, ranges);
}

std::vector<Text> split_lines(const Text& text, bool keep_borders) {
  const std::string_view bytes = text.bytes();
  std::vector<Text> lines;
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    size_t next = i + c.length;
    if (is_line_border(c.code_point)) {
      if (c.code_point == '\r' && next < bytes.size() && bytes[next] == '\n') {
        ++next;
      }
      lines.push_back(text.slice(begin, keep_borders ? next : i));
      begin = next;
    }
    i = next;
  }
  if (begin < bytes.size()) {
    lines.push_back(text.slice(begin, bytes.size()));
  }
  return lines;
}

Text replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                  int64_t limit) {
  const std::string_view bytes = text.bytes();
  runtime.charge_bytes(bytes.size());
  std::vector<size_t> found;
  if (from.empty()) {
    // The empty text stands before every character and at the end.
    for (size_t i = 0; i <= bytes.size(); ++i) {
      if (limit >= 0 && static_cast<int64_t>(found.size()) == limit) {
        break;
      }
      if (i == bytes.size() || !utf8::is_continuation(bytes[i])) {
        found.push_back(i);
      }
    }
  } else {
    found = occurrences(bytes, from.bytes(), limit);
  }
  const size_t added = to.size() > from.size() ? to.size() - from.size() : 0;
  if (added > 0 && found.size() > kMaxTextBytes / added) {
    runtime.charge_bytes(kMaxTextBytes + 1);
  }
  runtime.charge_bytes(found.size() * to.size());
  Text out;
  out.reserve(bytes.size() + found.size() * added);
  size_t begin = 0;
  for (const size_t at : found) {
    runtime.step();
    out.append(text, begin, at);
    out.append(to);
    begin = at + from.size();
  }
  out.append(text, begin, bytes.size());
  return out;
}

Text strip_text(const Text& text, const Value* chars, bool left, bool right) {
  ByteRange range;
  if (chars == nullptr || chars->is_none()) {
    range = strip_range(text.bytes(), nullptr, left, right);
  } else if (chars->is_string()) {
    const std::string_view set = chars->bytes();
    range = strip_range(text.bytes(), &set, left, right);
  } else {
    fail_type("strip arg must be None or str");
  }
  return range.begin == 0 && range.end == text.size() ? text : text.slice(range.begin, range.end);
}

Text map_case(const Text& text, bool upper) {
  const std::string_view bytes = text.bytes();
  Text out;
  out.reserve(bytes.size());
  std::string piece;
  bool piece_origin = true;
  for (size_t i = 0; i < bytes.size();) {
    const utf8::Decoded c = utf8::decode_valid(bytes.data() + i);
    const bool origin = text.cuts().empty() ? text.first_from_template() : text.from_template_at(i);
    if (origin != piece_origin) {
      out.append(piece, piece_origin);
      piece.clear();
      piece_origin = origin;
    }
    if (upper) {
      append_upper(piece, c.code_point);
    } else {
      append_lower(piece, c.code_point, c.code_point == 0x3A3 && is_final_sigma(bytes, i));
    }
    i += c.length;
  }
  out.append(piece, piece_origin);
  return out;
}

Text capitalize_text(const Text& text) {
  if (text.empty()) {
    return text;
  }
  const utf8::Decoded first = utf8::decode_valid(text.bytes().data());
  std::string title;
  append_title(title, first.code_point);
  Text out(std::move(title), text.from_template_at(0));
  // The whole text is mapped, so that a sigma is judged by what stands before it.
  const Text lower = map_case(text, false);
  std::string first_lower;
  append_lower(first_lower, first.code_point, false);
  out.append(lower, std::min(first_lower.size(), lower.size()), lower.size());
  return out;
}

}  // namespace deltaserve::jinja
