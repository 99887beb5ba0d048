// Any bytes as a picture file: an error, or a picture of the size that its header says, within the
// limits. Every format is tried, since the first bytes choose it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "media/image_processor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace deltaserve;
  const ImageLimits limits{int64_t{1} << 18, size_t{1} << 20};
  const Bytes file(data, size);
  const auto header = read_image_header(file, limits);
  const auto image = decode_image(file, limits);
  if (!image) {
    if (image.error().message.empty()) std::abort();
    return 0;
  }
  const bool fits = image->pixels.size() ==
                    static_cast<size_t>(image->width) * static_cast<size_t>(image->height) * 3;
  if (!header || header->pixels() != int64_t{image->width} * image->height || !fits) std::abort();

  const ImageProcessor processor({.min_pixels = 1024, .max_pixels = 4096}, limits);
  const auto plan = processor.inspect(file);
  const auto item = processor.process(file);
  if (plan.has_value() != item.has_value()) std::abort();
  if (item &&
      ((*item)->num_tokens() != plan->num_tokens || (*item)->patches.size() != plan->num_bytes)) {
    std::abort();
  }
  return 0;
}
