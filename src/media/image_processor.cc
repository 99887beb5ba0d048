// The steps in their order: decode, turn upright, resize, hash, patches.
#include "media/image_processor.h"

#include <array>
#include <utility>

#include "media/digest.h"
#include "media/patches.h"
#include "media/resize.h"

namespace deltaserve {
namespace {

// A picture is what its resized pixels and their shape are.
Digest hash_pixels(const RgbImage& image) {
  const std::array<int32_t, 2> shape{image.height, image.width};
  return digest({{reinterpret_cast<const uint8_t*>(shape.data()), sizeof(shape)}, image.pixels});
}

}  // namespace

Result<ImagePlan> ImageProcessor::inspect(Bytes file) const {
  const Result<ImageHeader> header = read_image_header(file, limits_);
  if (!header) return std::unexpected(header.error());
  ImageSize size{header->height, header->width};
  if (header->swaps_sides()) std::swap(size.height, size.width);
  const Result<ImageSize> resized = smart_resize(size, settings_.resize_limits());
  if (!resized) return std::unexpected(resized.error());
  const int64_t block = int64_t{settings_.patch_size} * settings_.merge_size;
  const int64_t area = int64_t{resized->height} * resized->width;
  return ImagePlan{*resized, area / (block * block), static_cast<size_t>(area) * kPixelChannels};
}

Result<std::shared_ptr<const VisionItem>> ImageProcessor::process(Bytes file) const {
  const Result<ImagePlan> plan = inspect(file);
  if (!plan) return std::unexpected(plan.error());
  Result<RgbImage> decoded = decode_image(file, limits_);
  if (!decoded) return std::unexpected(decoded.error());
  const RgbImage image = resize_bicubic(*std::move(decoded), plan->resized);
  auto item = std::make_shared<VisionItem>();
  item->grid_h = image.height / settings_.patch_size;
  item->grid_w = image.width / settings_.patch_size;
  item->merge_size = settings_.merge_size;
  item->offset = settings_.offset;
  item->scale = settings_.scale;
  item->content_hash = hash_pixels(image);
  item->patches = make_patches(image, settings_);
  return item;
}

}  // namespace deltaserve
