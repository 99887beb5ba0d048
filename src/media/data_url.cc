// "data:" [type] *(";" parameter) ";base64," data
#include "media/data_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

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

}  // namespace

bool is_data_url(std::string_view url) {
  return equal_ignoring_case(url.substr(0, kScheme.size()), kScheme);
}

Result<std::vector<uint8_t>> decode_data_url(std::string_view url, std::string_view noun) {
  const size_t comma = url.find(',');
  if (!is_data_url(url) || comma == std::string_view::npos) {
    return invalid(
        fmt::format("The {0} is not a data URL of the form 'data:{0}/...;base64,...'.", noun));
  }
  const std::string_view head = url.substr(0, comma);
  const std::string_view encoding = head.substr(std::min(head.rfind(';'), head.size()));
  if (!equal_ignoring_case(encoding, ";base64")) {
    return invalid(
        fmt::format("The {0}'s data URL must be base64: 'data:{0}/...;base64,...'.", noun));
  }
  std::optional<std::vector<uint8_t>> bytes = decode_base64(url.substr(comma + 1));
  if (!bytes) {
    return invalid(fmt::format("The {}'s data URL holds text that is not base64.", noun));
  }
  if (bytes->empty()) return invalid(fmt::format("The {}'s data URL is empty.", noun));
  return *std::move(bytes);
}

}  // namespace deltaserve
