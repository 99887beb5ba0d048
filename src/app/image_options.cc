// Image settings come from preprocessor_config.json; newer checkpoints have them in
// processor_config.json, and a checkpoint without either is treated as the family's defaults say.
#include "app/image_options.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr int64_t kMostImages = 4096;  // each is at least one token of the prompt

std::unexpected<Error> bad_limit(const std::string& text) {
  return invalid(
      fmt::format("--limit-mm-per-prompt must be {{\"image\": N}} or image=N with N of 0 "
                  "to {}, not {}",
                  kMostImages, text),
      "limit-mm-per-prompt");
}

Result<int32_t> parse_limit(const std::string& text) {
  constexpr std::string_view kShort = "image=";
  int64_t limit = -1;
  if (text.starts_with(kShort)) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + kShort.size(), end, limit);
    if (error != std::errc{} || stop != end) return bad_limit(text);
  } else {
    const Result<json::Value> value = json::parse(text);
    if (!value || !value->is_object()) return bad_limit(text);
    const auto field = json::integer_field(value->get_object(), "image");
    if (!field || !*field || value->get_object().size() != 1) return bad_limit(text);
    limit = **field;
  }
  if (limit < 0 || limit > kMostImages) return bad_limit(text);
  return static_cast<int32_t>(limit);
}

Result<json::Object> read_settings(const Checkpoint& checkpoint) {
  Result<json::Value> own = checkpoint.read_json("preprocessor_config.json");
  if (!own) return std::unexpected(own.error());
  if (own->is_object()) return own->get_object();
  const Result<json::Value> shared = checkpoint.read_json("processor_config.json");
  if (!shared) return std::unexpected(shared.error());
  const json::Object* object = shared->if_object();
  const json::Value* images = object != nullptr ? object->if_contains("image_processor") : nullptr;
  return images != nullptr && images->is_object() ? images->get_object() : json::Object{};
}

// The tower's weights are made for its own sizes of patches.
Result<void> check_sizes(const ImageSettings& settings, const VisionConfig& vision) {
  if (settings.patch_size == vision.patch_size &&
      settings.temporal_patch_size == vision.temporal_patch_size &&
      settings.merge_size == vision.spatial_merge_size) {
    return {};
  }
  return invalid(fmt::format(
      "the checkpoint's image processor has patches of {}x{}x{} merged by {}, its vision tower "
      "{}x{}x{} merged by {}",
      settings.temporal_patch_size, settings.patch_size, settings.patch_size, settings.merge_size,
      vision.temporal_patch_size, vision.patch_size, vision.patch_size, vision.spatial_merge_size));
}

}  // namespace

void add_image_options(CLI::App& command, ImageFlags& flags) {
  command
      .add_option("--limit-mm-per-prompt", flags.limit_per_prompt,
                  "Most images of one request, as {\"image\": N}")
      ->capture_default_str();
  command.add_option("--allowed-media-domains", flags.allowed_domains,
                     "Hosts from which images may be fetched, *.example.org for all below one "
                     "(default: none)");
  command
      .add_option("--max-image-pixels", flags.limits.max_pixels,
                  "Largest image that is decoded, before it is resized")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--max-image-bytes", flags.limits.max_bytes, "Largest file of an image")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command
      .add_option("--image-memory", flags.memory.max_live_bytes,
                  "Bytes for resized images of all requests together; more are answered with 503")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  command
      .add_option("--image-cache", flags.memory.max_cached_bytes,
                  "Bytes of those that are kept for later requests with the same image")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
}

Result<std::shared_ptr<const ImageInput>> make_image_input(const ImageFlags& flags,
                                                           const LoadedModel& loaded) {
  const Result<int32_t> max_images = parse_limit(flags.limit_per_prompt);
  if (!max_images) return std::unexpected(max_images.error());
  const ModelConfig& config = loaded.model->config();
  if (loaded.model->vision() == nullptr) return nullptr;
  const Result<json::Object> file = read_settings(*loaded.checkpoint);
  if (!file) return std::unexpected(file.error());
  const Result<ImageSettings> settings = parse_image_settings(*file);
  if (!settings) return std::unexpected(settings.error());
  if (const auto sizes = check_sizes(*settings, *config.vision); !sizes) {
    return std::unexpected(sizes.error());
  }
  auto input = std::make_shared<ImageInput>();
  input->store =
      std::make_shared<ImageStore>(ImageProcessor(*settings, flags.limits), flags.memory);
  input->fetcher =
      std::make_shared<MediaFetcher>(FetchOptions{flags.allowed_domains, flags.limits.max_bytes});
  input->max_images = *max_images;
  input->max_patches =
      settings->max_pixels / (int64_t{settings->patch_size} * settings->patch_size);
  input->image_token_id = config.image_token_id;
  return input;
}

}  // namespace deltaserve
