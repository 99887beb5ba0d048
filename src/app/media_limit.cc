// Two ways to write the same.
#include "app/media_limit.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "json/json.h"

namespace deltaserve {
namespace {

constexpr int64_t kMost = 4096;  // each is at least one token of the prompt

std::unexpected<Error> bad_limit(const std::string& text) {
  return invalid(fmt::format("--limit-mm-per-prompt must be {{\"image\": N, \"video\": N}} or "
                             "image=N,video=N with N of 0 to {}, not {}",
                             kMost, text),
                 "limit-mm-per-prompt");
}

// False for a name or a number that there is not.
bool set_limit(MediaLimit& limit, std::string_view name, std::optional<int64_t> value) {
  if (!value || *value < 0 || *value > kMost) return false;
  if (name != "image" && name != "video") return false;
  (name == "image" ? limit.images : limit.videos) = static_cast<int32_t>(*value);
  return true;
}

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

bool read_pairs(std::string_view text, MediaLimit& limit) {
  for (;;) {
    const std::string_view pair = text.substr(0, text.find(','));
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return false;
    if (!set_limit(limit, pair.substr(0, equals), integer(pair.substr(equals + 1)))) return false;
    if (pair.size() == text.size()) return true;
    text.remove_prefix(pair.size() + 1);
  }
}

bool read_object(const json::Object& object, MediaLimit& limit) {
  for (const auto& [name, value] : object) {
    const auto* number = value.if_int64();
    if (!set_limit(limit, name, number ? std::optional(*number) : std::nullopt)) return false;
  }
  return !object.empty();
}

}  // namespace

Result<MediaLimit> parse_media_limit(const std::string& text) {
  MediaLimit limit;
  bool is_read = false;
  if (text.starts_with('{')) {
    const Result<json::Value> value = json::parse(text);
    is_read = value && value->is_object() && read_object(value->get_object(), limit);
  } else {
    is_read = read_pairs(text, limit);
  }
  return is_read ? Result<MediaLimit>(limit) : bad_limit(text);
}

}  // namespace deltaserve
