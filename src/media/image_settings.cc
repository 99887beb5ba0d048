// Keys and defaults are those of transformers' Qwen2VLImageProcessor.
#include "media/image_settings.h"

#include <fmt/format.h>

#include <string_view>

#include "media/settings_reader.h"

namespace deltaserve {
namespace {

constexpr std::string_view kFile = "preprocessor_config.json";
constexpr int64_t kBicubic = 3;  // Pillow's number
constexpr PixelRange kReleasedPixels = {.least = 65536, .greatest = 16'777'216};

// `size` holds areas under names of edges; older files have min_pixels and max_pixels.
void read_pixel_limits(SettingsReader& reader, const PixelRange& fallback,
                       ImageSettings& settings) {
  constexpr int64_t kMaxArea = int64_t{1} << 32;
  settings.min_pixels = reader.integer("min_pixels", fallback.least, 1, kMaxArea);
  settings.max_pixels = reader.integer("max_pixels", fallback.greatest, 1, kMaxArea);
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

ImageSettings read_frame_settings(SettingsReader& reader, const PixelRange& fallback) {
  ImageSettings settings;
  settings.patch_size = static_cast<int32_t>(reader.integer("patch_size", 16, 1, 256));
  settings.temporal_patch_size =
      static_cast<int32_t>(reader.integer("temporal_patch_size", 2, 1, 16));
  settings.merge_size = static_cast<int32_t>(reader.integer("merge_size", 2, 1, 16));
  read_pixel_limits(reader, fallback, settings);
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
  return settings;
}

Result<ImageSettings> parse_image_settings(const json::Object& config) {
  SettingsReader reader(config);
  const ImageSettings settings = read_frame_settings(reader, kReleasedPixels);
  if (!reader.error().empty()) return invalid(fmt::format("{}: {}.", kFile, reader.error()));
  return settings;
}

}  // namespace deltaserve
