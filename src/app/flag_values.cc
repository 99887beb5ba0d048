// Numbers are read as a whole by std::from_chars: what follows them is an error.
#include "app/flag_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace deltaserve {

namespace {

template <typename T>
std::optional<T> read_whole(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return value;
}

// Bytes of "", "b", "k", "kb", "ki", "kib", "m", ...
std::optional<double> unit_bytes(std::string unit) {
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with('i')) unit.pop_back();
  if (unit.empty()) return 1.0;
  constexpr std::string_view kPowers = "kmgtpe";
  const size_t power = unit.size() == 1 ? kPowers.find(unit[0]) : std::string_view::npos;
  if (power == std::string_view::npos) return std::nullopt;
  return static_cast<double>(int64_t{1} << (10 * (power + 1)));
}

std::optional<int64_t> read_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = unit_bytes(std::string(text.substr(digits)));
  if (!unit) return std::nullopt;
  if (*unit == 1.0) return read_whole<int64_t>(text.substr(0, digits));
  const auto number = read_whole<double>(text.substr(0, digits));
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (!number || !(*number * *unit < kEnd)) return std::nullopt;
  return static_cast<int64_t>(*number * *unit);
}

}  // namespace

CLI::Validator number_in(double min, double max) {
  const auto check = [min, max](std::string& input) -> std::string {
    const auto value = read_whole<double>(input);
    if (value && *value >= min && *value <= max) return {};
    return fmt::format("{} is not a number from {} to {}", input, min, max);
  };
  return {check, fmt::format("NUMBER in [{} - {}]", min, max)};
}

CLI::Validator whole_number(int64_t min) {
  const auto check = [min](std::string& input) -> std::string {
    const auto value = read_whole<int64_t>(input);
    if (value && *value >= min) return {};
    return fmt::format("{} is not a whole number of at least {}", input, min);
  };
  return {check, fmt::format("NUMBER of at least {}", min)};
}

CLI::Validator byte_size(int64_t min) {
  const auto read = [min](std::string& input) -> std::string {
    const auto bytes = read_size(input);
    if (!bytes || *bytes < min) {
      return fmt::format("{} is not a size of at least {} bytes, such as 512MiB or 8GiB", input,
                         min);
    }
    input = std::to_string(*bytes);
    return {};
  };
  return {read, fmt::format("SIZE of at least {}", min)};
}

}  // namespace deltaserve
