// Keys and defaults are those of transformers' Qwen2VLImageProcessor.
#include "media/image_settings.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr std::string_view kFile = "preprocessor_config.json";
constexpr int64_t kBicubic = 3;  // Pillow's number

// Reads one key after the other; the first error stays.
class SettingsReader {
 public:
  explicit SettingsReader(const json::Object& config) : config_(config) {}

  int64_t integer(std::string_view key, int64_t fallback, int64_t low, int64_t high) {
    const auto value = take(json::integer_field(config_, key));
    if (value && (*value < low || *value > high)) {
      fail(fmt::format("'{}' must be {} to {}, got {}", key, low, high, *value));
    }
    return value.value_or(fallback);
  }

  double number(std::string_view key, double fallback) {
    return take(json::number_field(config_, key)).value_or(fallback);
  }

  // A step that transformers can leave out and this code always takes.
  void require_true(std::string_view key) {
    if (!take(json::bool_field(config_, key)).value_or(true)) {
      fail(fmt::format("'{}' must be true", key));
    }
  }

  std::array<double, 3> three_numbers(std::string_view key, double fallback) {
    std::array<double, 3> out{fallback, fallback, fallback};
    const Result<const json::Array*> list = json::array_field(config_, key);
    if (!list) {
      fail(list.error().message);
    } else if (*list != nullptr && (*list)->size() != out.size()) {
      fail(fmt::format("'{}' must have 3 numbers", key));
    } else if (*list != nullptr) {
      for (size_t i = 0; i < out.size(); ++i) {
        const json::Value& value = (**list)[i];
        if (!value.is_number()) {
          fail(fmt::format("'{}' must have 3 numbers", key));
          return out;
        }
        out[i] = value.to_number<double>();
      }
    }
    return out;
  }

  const json::Object* object(std::string_view key) {
    const Result<const json::Object*> value = json::object_field(config_, key);
    if (!value) fail(value.error().message);
    return value.value_or(nullptr);
  }

  void fail(const std::string& message) {
    if (error_.empty()) error_ = message;
  }
  const std::string& error() const { return error_; }

 private:
  template <typename T>
  T take(Result<T> value) {
    if (value) return *value;
    fail(value.error().message);
    return {};
  }

  const json::Object& config_;
  std::string error_;
};

// `size` holds areas under names of edges; older files have min_pixels and max_pixels.
void read_pixel_limits(SettingsReader& reader, ImageSettings& settings) {
  constexpr int64_t kMaxArea = int64_t{1} << 32;
  settings.min_pixels = reader.integer("min_pixels", 65536, 1, kMaxArea);
  settings.max_pixels = reader.integer("max_pixels", 16777216, 1, kMaxArea);
  if (const json::Object* size = reader.object("size")) {
    SettingsReader nested(*size);
    settings.min_pixels = nested.integer("shortest_edge", settings.min_pixels, 1, kMaxArea);
    settings.max_pixels = nested.integer("longest_edge", settings.max_pixels, 1, kMaxArea);
    if (!nested.error().empty()) reader.fail("'size': " + nested.error());
  }
  if (settings.min_pixels > settings.max_pixels) {
    reader.fail("the least area of a picture is above the greatest");
  }
}

}  // namespace

Result<ImageSettings> parse_image_settings(const json::Object& config) {
  SettingsReader reader(config);
  ImageSettings settings;
  settings.patch_size = static_cast<int32_t>(reader.integer("patch_size", 16, 1, 256));
  settings.temporal_patch_size =
      static_cast<int32_t>(reader.integer("temporal_patch_size", 2, 1, 16));
  settings.merge_size = static_cast<int32_t>(reader.integer("merge_size", 2, 1, 16));
  read_pixel_limits(reader, settings);
  for (const std::string_view step : {"do_resize", "do_rescale", "do_normalize"}) {
    reader.require_true(step);
  }
  reader.integer("resample", kBicubic, kBicubic, kBicubic);
  const double rescale = reader.number("rescale_factor", 1.0 / 255.0);
  const std::array<double, 3> mean = reader.three_numbers("image_mean", 0.5);
  const std::array<double, 3> deviation = reader.three_numbers("image_std", 0.5);
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!(rescale > 0.0) || !(deviation[c] > 0.0)) {
      reader.fail("'rescale_factor' and 'image_std' must be above 0");
      break;
    }
    // As transformers fuses both steps: (v * rescale - mean) / deviation.
    settings.offset[c] = static_cast<float>(mean[c] * (1.0 / rescale));
    settings.scale[c] = static_cast<float>(deviation[c] * (1.0 / rescale));
  }
  if (!reader.error().empty()) return invalid(fmt::format("{}: {}.", kFile, reader.error()));
  return settings;
}

}  // namespace deltaserve
