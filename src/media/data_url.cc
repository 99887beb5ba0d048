// "data:" [type] *(";" parameter) ";base64," data, as the URL standard of browsers reads it: blanks
// around the parts are skipped, and %XX stands for a byte.
#include "media/data_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "media/base64.h"

namespace deltaserve {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

constexpr std::string_view kScheme = "data:";
constexpr std::string_view kBlanks = " \t\r\n\f";

// Whether the last of the parameters is "base64".
bool says_base64(std::string_view head) {
  constexpr std::string_view kName = "base64";
  head = trim_blanks(head);
  if (head.size() < kName.size()) return false;
  const std::string_view before = trim_blanks(head.substr(0, head.size() - kName.size()));
  return before.ends_with(';') &&
         equal_ignoring_case(head.substr(head.size() - kName.size()), kName);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int letter = std::tolower(static_cast<unsigned char>(c));
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// A % that no two hexadecimal digits follow stays as it is, which is no base64.
std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                           hex_digit(text[i + 2]) >= 0;
    out.push_back(is_escape
                      ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]))
                      : text[i]);
    i += is_escape ? 2 : 0;
  }
  return out;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool is_data_url(std::string_view url) {
  return equal_ignoring_case(url.substr(0, kScheme.size()), kScheme);
}

Result<std::vector<uint8_t>> decode_data_url(std::string_view url, std::string_view noun) {
  const size_t comma = url.find(',');
  if (!is_data_url(url) || comma == std::string_view::npos) {
    return invalid(
        fmt::format("The {0} is not a data URL of the form 'data:{0}/...;base64,...'.", noun));
  }
  if (!says_base64(url.substr(0, comma))) {
    return invalid(
        fmt::format("The {0}'s data URL must be base64: 'data:{0}/...;base64,...'.", noun));
  }
  const std::string_view data = url.substr(comma + 1);
  std::optional<std::vector<uint8_t>> bytes = data.find('%') == std::string_view::npos
                                                  ? decode_base64(data)
                                                  : decode_base64(percent_decoded(data));
  if (!bytes) {
    return invalid(fmt::format("The {}'s data URL holds text that is not base64.", noun));
  }
  if (bytes->empty()) return invalid(fmt::format("The {}'s data URL is empty.", noun));
  return *std::move(bytes);
}

}  // namespace deltaserve
