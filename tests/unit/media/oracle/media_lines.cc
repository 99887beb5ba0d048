// For comparison with other implementations: reads lines {"do", "file", ...}, writes what came of
// the picture to "out" as raw bytes and answers with {"height", "width"} or {"error"}. do: decode
// (RGB), resize (RGB, to "height" and "width"), process (patches as levels, settings in "config").
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "json/json.h"
#include "media/image_processor.h"
#include "media/resize.h"

namespace deltaserve {
namespace {

std::string text_of(const json::Object& line, std::string_view key) {
  return std::string(line.at(key).get_string());
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
void write_file(const std::string& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(T)));
}

json::Object failed(const Error& error) {
  return {{"error", error.message}};
}

json::Object answer(const json::Object& line) {
  const std::vector<uint8_t> file = read_file(text_of(line, "file"));
  const std::string what = text_of(line, "do");
  if (what == "process") {
    const Result<ImageSettings> settings = parse_image_settings(line.at("config").get_object());
    if (!settings) return failed(settings.error());
    const auto item = ImageProcessor(*settings, ImageLimits{}).process(file);
    if (!item) return failed(item.error());
    write_file(text_of(line, "out"), (*item)->patches);
    return {{"height", (*item)->grid_h}, {"width", (*item)->grid_w}};
  }
  Result<RgbImage> image = decode_image(file, ImageLimits{});
  if (!image) return failed(image.error());
  if (what == "resize") {
    image = resize_bicubic(*std::move(image), {line.at("height").to_number<int32_t>(),
                                               line.at("width").to_number<int32_t>()});
  }
  write_file(text_of(line, "out"), image->pixels);
  return {{"height", image->height}, {"width", image->width}};
}

}  // namespace
}  // namespace deltaserve

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto parsed = deltaserve::json::parse(line);
    if (!parsed) return 1;
    std::cout << deltaserve::json::serialize(deltaserve::answer(parsed->get_object())) << '\n';
  }
  return 0;
}
