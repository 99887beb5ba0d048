// See utf8.h. The ranges of second bytes are those of the Unicode standard's table 3-7, which
// excludes overlong forms, surrogates and code points past U+10FFFF.
#include "text/utf8.h"

#include <cstring>

namespace deltaserve::utf8 {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;  // set in bytes that are not ASCII

struct Lead {
  uint32_t length;  // 0: no character begins with this byte
  unsigned char second_low;
  unsigned char second_high;
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) {
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte < 0xF5) {
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0, 0, 0};
}

}  // namespace

Unit unit_at(std::string_view text, size_t begin) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[begin]));
  if (lead.length == 0) return {1, UnitKind::kInvalid};
  for (uint32_t i = 1; i < lead.length; ++i) {
    if (begin + i == text.size()) return {i, UnitKind::kTruncated};
    const auto byte = static_cast<unsigned char>(text[begin + i]);
    const bool fits =
        i == 1 ? byte >= lead.second_low && byte <= lead.second_high : byte >= 0x80 && byte <= 0xBF;
    if (!fits) return {i, UnitKind::kInvalid};
  }
  return {lead.length, UnitKind::kCharacter};
}

size_t skip_ascii(std::string_view text, size_t begin) {
  size_t i = begin;
  for (; i + sizeof(uint64_t) <= text.size(); i += sizeof(uint64_t)) {
    uint64_t block = 0;
    std::memcpy(&block, text.data() + i, sizeof block);
    if ((block & kHighBits) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}

bool is_valid(std::string_view text) {
  size_t i = skip_ascii(text, 0);
  while (i < text.size()) {
    const Unit unit = unit_at(text, i);
    if (unit.kind != UnitKind::kCharacter) return false;
    i += unit.length;
    if (unit.length == 1) i = skip_ascii(text, i);
  }
  return true;
}

size_t append_repaired(std::string& out, std::string_view text, bool hold_back) {
  size_t i = 0;
  while (i < text.size()) {
    const size_t ascii_end = skip_ascii(text, i);
    out.append(text, i, ascii_end - i);
    i = ascii_end;
    if (i == text.size()) break;
    const Unit unit = unit_at(text, i);
    if (unit.kind == UnitKind::kTruncated && hold_back) return i;
    if (unit.kind == UnitKind::kCharacter) {
      out.append(text, i, unit.length);
    } else {
      out.append(kReplacement);
    }
    i += unit.length;
  }
  return i;
}

std::string repair(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_repaired(out, text, false);
  return out;
}

void append(std::string& out, char32_t code_point) {
  const auto tail = [&out, code_point](int shift) {
    out.push_back(static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    tail(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace deltaserve::utf8
