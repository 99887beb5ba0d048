// See normalize.h. Only regions of "active" characters (unicode_classes.h) and the base before them
// go through utf8proc's decomposition, ordering and composition data. The reordering is a stable
// sort of our own: utf8proc's is quadratic in the number of marks, which a request chooses.
#include "text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "text/unicode_classes.h"
#include "text/utf8.h"

namespace deltaserve {
namespace {

constexpr size_t kMaxDecomposition = 4;  // code points; canonical mappings have at most 4

int combining_class(int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void append_decomposed(std::vector<int32_t>& out, char32_t code_point) {
  std::array<int32_t, kMaxDecomposition> buffer{};
  int boundary_class = 0;
  const auto count = utf8proc_decompose_char(
      static_cast<int32_t>(code_point), buffer.data(), kMaxDecomposition,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary_class);
  DS_CHECK(count > 0 && count <= static_cast<ptrdiff_t>(kMaxDecomposition));
  out.insert(out.end(), buffer.begin(), buffer.begin() + count);
}

// Sorts every run of code points with a non-zero class by class, keeping the order of equals.
void order_marks(std::vector<int32_t>& points) {
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin;
    while (end < points.size() && combining_class(points[end]) != 0) ++end;
    const auto by_class = [](int32_t a, int32_t b) {
      return combining_class(a) < combining_class(b);
    };
    std::stable_sort(points.begin() + static_cast<ptrdiff_t>(begin),
                     points.begin() + static_cast<ptrdiff_t>(end), by_class);
    begin = end + 1;
  }
}

void append_composed_region(std::string& out, std::string_view region) {
  std::vector<int32_t> points;
  points.reserve(region.size());
  for (size_t i = 0; i < region.size();) {
    const utf8::Decoded character = utf8::decode_valid(region.data() + i);
    append_decomposed(points, character.code_point);
    i += character.length;
  }
  order_marks(points);
  const auto count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  DS_CHECK(count >= 0 && count <= static_cast<ptrdiff_t>(points.size()));
  for (ptrdiff_t i = 0; i < count; ++i) {
    utf8::append(out, static_cast<char32_t>(points[static_cast<size_t>(i)]));
  }
}

// Where the character that ends before `end` begins.
size_t previous_begin(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (utf8::is_continuation(text[begin])) --begin;
  return begin;
}

size_t region_end(std::string_view text, size_t begin) {
  const UnicodeClasses& classes = UnicodeClasses::get();
  size_t i = begin;
  while (i < text.size()) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + i);
    if ((classes.flags(character.code_point) & kNfcActive) == 0) break;
    i += character.length;
  }
  return i;
}

}  // namespace

size_t find_nfc_candidate(std::string_view text, size_t begin) {
  const UnicodeClasses& classes = UnicodeClasses::get();
  size_t i = utf8::skip_ascii(text, begin);
  while (i < text.size()) {
    const utf8::Decoded character = utf8::decode_valid(text.data() + i);
    if ((classes.flags(character.code_point) & kNfcActive) != 0) return i;
    i += character.length;
    if (character.length == 1) i = utf8::skip_ascii(text, i);
  }
  return i;
}

std::string normalize_nfc(std::string_view text, std::vector<NfcEdit>* edits) {
  const UnicodeClasses& classes = UnicodeClasses::get();
  std::string out;
  out.reserve(text.size());
  size_t done = 0;
  for (size_t active = find_nfc_candidate(text, 0); active < text.size();) {
    size_t begin = active;
    if (active > done) {
      const size_t base = previous_begin(text, active);
      const char32_t code_point = utf8::decode_valid(text.data() + base).code_point;
      if ((classes.flags(code_point) & kNfcBase) != 0) begin = base;
    }
    const size_t end = region_end(text, active);
    out.append(text, done, begin - done);
    const size_t out_begin = out.size();
    append_composed_region(out, text.substr(begin, end - begin));
    const bool changed = std::string_view(out).substr(out_begin) != text.substr(begin, end - begin);
    if (changed && edits != nullptr) edits->push_back({begin, end, out_begin, out.size()});
    done = end;
    active = find_nfc_candidate(text, end);
  }
  out.append(text, done);
  return out;
}

}  // namespace deltaserve
