// Settings come from preprocessor_config.json and video_preprocessor_config.json; newer checkpoints
// have both in processor_config.json, and one without any is treated as the family's defaults say.
#include "app/media_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "app/flag_values.h"
#include "app/media_limit.h"
#include "tensor/checkpoint_json.h"

namespace deltaserve {
namespace {

// Of a frame: those of the largest picture. A budget for long videos is for all frames together.
constexpr int64_t kMostFramePatches = 65536;

// Of a frame before it is resized: what the decoder may allocate has room for.
constexpr int64_t kMostVideoPixels = int64_t{1} << 24;

// The object of `file`, or `key` of the file that newer checkpoints have.
Result<json::Object> read_settings(const std::filesystem::path& directory, const std::string& file,
                                   std::string_view key) {
  Result<json::Value> own = read_checkpoint_json(directory, file);
  if (!own) return std::unexpected(own.error());
  if (own->is_object()) return own->get_object();
  const Result<json::Value> shared = read_checkpoint_json(directory, "processor_config.json");
  if (!shared) return std::unexpected(shared.error());
  const json::Object* object = shared->if_object();
  const json::Value* part = object != nullptr ? object->if_contains(key) : nullptr;
  return part != nullptr && part->is_object() ? part->get_object() : json::Object{};
}

// The tower's weights are made for its own sizes of patches.
Result<void> check_sizes(std::string_view kind, const ImageSettings& settings,
                         const VisionConfig& vision) {
  if (settings.patch_size == vision.patch_size &&
      settings.temporal_patch_size == vision.temporal_patch_size &&
      settings.merge_size == vision.spatial_merge_size) {
    return {};
  }
  return invalid(fmt::format(
      "the checkpoint's {} processor has patches of {}x{}x{} merged by {}, its vision tower "
      "{}x{}x{} merged by {}",
      kind, settings.temporal_patch_size, settings.patch_size, settings.patch_size,
      settings.merge_size, vision.temporal_patch_size, vision.patch_size, vision.patch_size,
      vision.spatial_merge_size));
}

Result<ImageSettings> image_settings(const std::filesystem::path& directory,
                                     const VisionConfig& vision) {
  const Result<json::Object> file =
      read_settings(directory, "preprocessor_config.json", "image_processor");
  if (!file) return std::unexpected(file.error());
  Result<ImageSettings> settings = parse_image_settings(*file);
  if (!settings) return settings;
  const Result<void> sizes = check_sizes("image", *settings, vision);
  return sizes ? std::move(settings) : std::unexpected(sizes.error());
}

Result<VideoSettings> video_settings(const std::filesystem::path& directory,
                                     const VisionConfig& vision) {
  const Result<json::Object> file =
      read_settings(directory, "video_preprocessor_config.json", "video_processor");
  if (!file) return std::unexpected(file.error());
  Result<VideoSettings> settings = parse_video_settings(*file);
  if (!settings) return settings;
  const Result<void> sizes = check_sizes("video", settings->frame, vision);
  return sizes ? std::move(settings) : std::unexpected(sizes.error());
}

// Of the largest image, or of a frame of the shortest video if that is larger.
int64_t frame_patches(const ImageSettings& images, const VideoSettings& videos) {
  const int64_t patch = int64_t{images.patch_size} * images.patch_size;
  const int64_t frame = videos.frame.max_pixels / videos.frame.temporal_patch_size / patch;
  return std::max(images.max_pixels / patch, std::min(frame, kMostFramePatches));
}

void add_video_options(CLI::App& command, MediaFlags& flags) {
  VideoLimits& limits = flags.video_limits;
  command.add_option("--max-video-bytes", limits.max_bytes, "Largest file of a video")
      ->transform(byte_size(1))
      ->capture_default_str();
  command
      .add_option("--max-video-pixels", limits.max_pixels,
                  "Largest frame of a video that is decoded, before it is resized")
      ->check(CLI::Range(int64_t{1}, kMostVideoPixels))
      ->capture_default_str();
  command.add_option("--max-video-frames", limits.max_frames, "Most frames that a video may have")
      ->check(whole_number(1))
      ->capture_default_str();
  command.add_option("--max-video-seconds", limits.max_seconds, "Longest video")
      ->check(number_in(0.001, 1e9))
      ->capture_default_str();
  command
      .add_option("--video-timeout", flags.video_seconds,
                  "Seconds that reading a video, and decoding it, may take")
      ->check(number_in(0.001, 3600.0))
      ->capture_default_str();
  command
      .add_option("--video-wrapper", flags.video_wrapper,
                  "Whether the template's vision tokens stay around all frames of a video: keep "
                  "(transformers 5.10 and later) or drop (before, and vLLM)")
      ->check(CLI::IsMember({"keep", "drop"}))
      ->capture_default_str();
}

}  // namespace

void add_media_options(CLI::App& command, MediaFlags& flags) {
  command
      .add_option("--limit-mm-per-prompt", flags.limit_per_prompt,
                  "Most images and videos of one request, as {\"image\": N, \"video\": N}")
      ->capture_default_str();
  command.add_option("--allowed-media-domains", flags.allowed_domains,
                     "Hosts from which images and videos may be fetched, *.example.org for all "
                     "below one (default: none)");
  command
      .add_option("--max-image-pixels", flags.limits.max_pixels,
                  "Largest image that is decoded, before it is resized")
      ->check(whole_number(1))
      ->capture_default_str();
  command.add_option("--max-image-bytes", flags.limits.max_bytes, "Largest file of an image")
      ->transform(byte_size(1))
      ->capture_default_str();
  add_video_options(command, flags);
  command
      .add_option("--image-memory", flags.memory.max_live_bytes,
                  "Bytes for resized images and videos of all requests together; more are answered "
                  "with 503")
      ->transform(byte_size(0))
      ->capture_default_str();
  command
      .add_option("--image-cache", flags.memory.max_cached_bytes,
                  "Bytes of those that are kept for later requests with the same image or video")
      ->transform(byte_size(0))
      ->capture_default_str();
}

Result<std::shared_ptr<const MediaInput>> make_media_input(const MediaFlags& flags,
                                                           const std::filesystem::path& directory,
                                                           const ModelConfig& config,
                                                           const Tokenizer& tokenizer) {
  const Result<MediaLimit> limit = parse_media_limit(flags.limit_per_prompt);
  if (!limit) return std::unexpected(limit.error());
  if (!config.vision) return nullptr;
  const Result<ImageSettings> images = image_settings(directory, *config.vision);
  if (!images) return std::unexpected(images.error());
  const Result<VideoSettings> videos = video_settings(directory, *config.vision);
  if (!videos) return std::unexpected(videos.error());
  VideoLimits video_limits = flags.video_limits;
  video_limits.timeout =
      std::chrono::milliseconds(static_cast<int64_t>(flags.video_seconds * 1000.0));
  auto input = std::make_shared<MediaInput>();
  input->store = std::make_shared<ImageStore>(ImageProcessor(*images, flags.limits), flags.memory);
  input->videos = std::make_shared<VideoProcessor>(*videos, video_limits, flags.limits);
  FetchOptions fetch{flags.allowed_domains, flags.limits.max_bytes};
  input->fetcher = std::make_shared<MediaFetcher>(fetch);
  fetch.max_bytes = video_limits.max_bytes;
  fetch.noun = "video";
  input->video_fetcher = std::make_shared<MediaFetcher>(fetch);
  input->max_images = limit->images;
  input->max_videos = limit->videos;
  input->max_patches = frame_patches(*images, *videos);
  input->image_token_id = config.image_token_id;
  input->video_token_id = config.video_token_id;
  input->wording = {std::string(tokenizer.token_bytes(config.video_token_id)), "<|vision_start|>",
                    "<|vision_end|>", flags.video_wrapper == "keep"};
  return input;
}

}  // namespace deltaserve
