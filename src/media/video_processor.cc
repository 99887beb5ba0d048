// Frames are resized as they come, so that only those of one temporal patch are in memory beside
// the patches.
#include "media/video_processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"
#include "media/patches.h"
#include "media/resize.h"
#include "media/video_sampling.h"

namespace deltaserve {
namespace {

Bytes bytes_of(const auto& values) {
  return {reinterpret_cast<const uint8_t*>(std::data(values)),
          std::size(values) * sizeof(*std::data(values))};
}

// Takes frames one after the other and writes each full temporal patch.
class PatchWriter {
 public:
  PatchWriter(const ImageSettings& settings, const VideoPlan& plan)
      : settings_(settings), size_(plan.resized), item_(std::make_shared<VisionItem>()) {
    item_->grid_t = static_cast<int32_t>(plan.timestamps.size());
    item_->grid_h = size_.height / settings.patch_size;
    item_->grid_w = size_.width / settings.patch_size;
    item_->merge_size = settings.merge_size;
    item_->is_video = true;
    item_->timestamps = plan.timestamps;
    item_->frames = settings.temporal_patch_size;
    item_->offset = settings.offset;
    item_->scale = settings.scale;
    item_->patches.resize(plan.num_bytes);
  }

  void add(RgbImage frame) {
    frames_.push_back(resize_bicubic(std::move(frame), size_));
    names_.push_back(digest({frames_.back().pixels}));
    if (std::ssize(frames_) == settings_.temporal_patch_size) write();
  }

  std::shared_ptr<const VisionItem> finish() {
    if (!frames_.empty()) write();
    DS_CHECK(written_ == item_->patches.size());
    const std::array<int32_t, 2> shape{size_.height, size_.width};
    item_->content_hash = digest({bytes_of(shape), bytes_of(names_)});
    return std::move(item_);
  }

 private:
  void write() {
    std::vector<const RgbImage*> patch;
    patch.reserve(static_cast<size_t>(settings_.temporal_patch_size));
    for (const RgbImage& frame : frames_) patch.push_back(&frame);
    patch.resize(static_cast<size_t>(settings_.temporal_patch_size), &frames_.back());
    write_patches(patch, settings_, item_->patches.data() + written_);
    written_ += patch.size() * frames_.back().pixels.size();
    frames_.clear();
  }

  const ImageSettings& settings_;
  ImageSize size_;
  std::shared_ptr<VisionItem> item_;
  std::vector<RgbImage> frames_;  // of the patch that is not yet full
  std::vector<Digest> names_;     // of all frames
  size_t written_ = 0;            // bytes
};

}  // namespace

Digest digest_of(const VideoSource& source) {
  const std::array<double, 2> how{source.is_frames ? 1.0 : 0.0, source.fps.value_or(0.0)};
  std::vector<Digest> names;
  names.reserve(source.files.size());
  for (const auto& file : source.files) names.push_back(digest({file}));
  return digest({bytes_of(how), bytes_of(names)});
}

Result<VideoPlan> VideoProcessor::make_plan(std::vector<int64_t> indices, double fps,
                                            ImageSize size) const {
  const auto num_frames = static_cast<int64_t>(indices.size());
  const Result<ImageSize> resized = video_resize(num_frames, size, settings_);
  if (!resized) return std::unexpected(resized.error());
  const ImageSettings& frame = settings_.frame;
  const int64_t block = int64_t{frame.patch_size} * frame.merge_size;
  const int64_t area = int64_t{resized->height} * resized->width;
  VideoPlan plan{.resized = *resized,
                 .indices = std::move(indices),
                 .timestamps = {},
                 .tokens_per_patch = area / (block * block)};
  plan.timestamps = patch_times(plan.indices, fps, frame.temporal_patch_size);
  plan.num_bytes = plan.timestamps.size() * static_cast<size_t>(area) * kPixelChannels *
                   static_cast<size_t>(frame.temporal_patch_size);
  return plan;
}

Result<VideoPlan> VideoProcessor::inspect_frames(const VideoSource& source) const {
  if (std::ssize(source.files) > settings_.max_frames) {
    return invalid(fmt::format("The video has {} frames: at most {} are taken.",
                               source.files.size(), settings_.max_frames));
  }
  std::optional<ImageSize> size;
  for (const auto& file : source.files) {
    const Result<ImageHeader> header = read_image_header(file, image_limits_);
    if (!header) return std::unexpected(header.error());
    ImageSize upright{header->height, header->width};
    if (header->swaps_sides()) std::swap(upright.height, upright.width);
    if (size.value_or(upright) != upright) {
      return invalid("The video has frames of different sizes.");
    }
    size = upright;
  }
  std::vector<int64_t> all(source.files.size());
  std::iota(all.begin(), all.end(), 0);
  return make_plan(std::move(all), source.fps.value_or(kFramesPerSecond), *size);
}

Result<VideoPlan> VideoProcessor::inspect(const VideoSource& source) const {
  DS_CHECK(!source.files.empty());
  if (source.is_frames) return inspect_frames(source);
  const Result<VideoInfo> info = read_video_info(source.files.front(), limits_);
  if (!info) return std::unexpected(info.error());
  VideoSettings sampling = settings_;
  sampling.fps = source.fps.value_or(settings_.fps);
  return make_plan(sample_frames(info->num_frames, info->fps, sampling), info->fps,
                   {info->height, info->width});
}

Result<std::shared_ptr<const VisionItem>> VideoProcessor::process(const VideoSource& source,
                                                                  const VideoPlan& plan) const {
  PatchWriter writer(settings_.frame, plan);
  if (!source.is_frames) {
    const Result<void> decoded = decode_video(source.files.front(), limits_, plan.indices,
                                              [&](const RgbImage& frame) { writer.add(frame); });
    if (!decoded) return std::unexpected(decoded.error());
    return writer.finish();
  }
  for (const auto& file : source.files) {
    Result<RgbImage> frame = decode_image(file, image_limits_);
    if (!frame) return std::unexpected(std::move(frame.error()));
    writer.add(*std::move(frame));
  }
  return writer.finish();
}

}  // namespace deltaserve
