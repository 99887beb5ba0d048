// URL to file, file to size, size to placeholders, file to pixels.
#include "api/prompt_media.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "media/data_url.h"

namespace deltaserve {
namespace {

std::unexpected<Error> about(const std::string& path, Error error) {
  error.message = fmt::format("'{}': {}", path, error.message);
  error.param = path;
  return std::unexpected(std::move(error));
}

Result<std::vector<uint8_t>> read_file(const MediaFetcher& fetcher, std::string_view url) {
  url = trim_blanks(url);
  return is_data_url(url) ? decode_data_url(url, fetcher.options().noun) : fetcher.fetch(url);
}

Result<void> check_count(const std::vector<MediaPart>& parts, MediaKind kind, int32_t limit) {
  int64_t count = 0;
  const MediaPart* beyond = nullptr;  // the first that is too many
  for (const MediaPart& part : parts) {
    if (part.kind != kind) continue;
    if (++count == int64_t{limit} + 1) beyond = &part;
  }
  if (beyond == nullptr) return {};
  return invalid(
      fmt::format("The request has {} {}s: at most {} are taken (--limit-mm-per-prompt).", count,
                  name_of(kind), limit),
      beyond->path);
}

Result<PromptMedia> read_part(const MediaInput& input, const MediaPart& part) {
  PromptMedia media{.path = part.path,
                    .source = {.files = {}, .is_frames = part.is_frames, .fps = part.fps},
                    .video = std::nullopt};
  const bool is_file = part.kind == MediaKind::kVideo && !part.is_frames;
  // Of all frames of a video: each alone has the fetcher's own limit.
  const auto deadline = std::chrono::steady_clock::now() + input.videos->limits().timeout;
  for (const std::string_view url : part.urls) {
    if (std::chrono::steady_clock::now() > deadline) {
      return invalid("The video's frames take too long to fetch: send them as data URLs.");
    }
    auto file = read_file(is_file ? *input.video_fetcher : *input.fetcher, url);
    if (!file) return std::unexpected(std::move(file.error()));
    media.source.files.push_back(*std::move(file));
  }
  if (part.kind == MediaKind::kImage) {
    const Result<ImagePlan> plan = input.store->inspect(media.source.files.front());
    if (!plan) return std::unexpected(plan.error());
    media.num_tokens = plan->num_tokens;
    return media;
  }
  Result<VideoPlan> plan = input.videos->inspect(media.source);
  if (!plan) return std::unexpected(std::move(plan.error()));
  media.num_tokens = plan->tokens_per_patch;
  media.video = *std::move(plan);
  return media;
}

}  // namespace

Result<std::vector<PromptMedia>> read_prompt_media(const MediaInput* input,
                                                   const std::vector<MediaPart>& parts) {
  std::vector<PromptMedia> media;
  if (parts.empty()) {
    return media;
  }
  if (input == nullptr) {
    const MediaPart& first = parts.front();
    return invalid(fmt::format("'{}' is {} {}, but this model takes text only.", first.path,
                               first.kind == MediaKind::kImage ? "an" : "a", name_of(first.kind)),
                   first.path);
  }
  for (const auto& [kind, limit] : {std::pair{MediaKind::kImage, input->max_images},
                                    std::pair{MediaKind::kVideo, input->max_videos}}) {
    if (const Result<void> counted = check_count(parts, kind, limit); !counted) {
      return std::unexpected(counted.error());
    }
  }
  for (const MediaPart& part : parts) {
    Result<PromptMedia> read = read_part(*input, part);
    if (!read) {
      return about(part.path, std::move(read.error()));
    }
    media.push_back(*std::move(read));
  }
  return media;
}

Result<std::vector<int32_t>> expand_placeholders(const MediaInput& input,
                                                 const std::vector<int32_t>& token_ids,
                                                 std::vector<PromptMedia>& media) {
  std::vector<int32_t> out;
  out.reserve(token_ids.size());
  size_t part = 0;
  int64_t run = 0;  // of the part
  const auto mismatch = [&media] {
    return invalid(
        fmt::format("The chat template does not show each of the {} images and videos in "
                    "the messages once and in order.",
                    media.size()),
        "messages");
  };
  for (const int32_t token : token_ids) {
    if (token != input.image_token_id && token != input.video_token_id) {
      out.push_back(token);
      continue;
    }
    if (part == media.size()) return mismatch();
    PromptMedia& shown = media[part];
    if (shown.video.has_value() != (token == input.video_token_id)) return mismatch();
    if (run == 0) shown.position = static_cast<int64_t>(out.size());
    out.insert(out.end(), static_cast<size_t>(shown.num_tokens), token);
    if (++run == shown.num_runs()) {
      ++part;
      run = 0;
    }
  }
  if (part != media.size()) return mismatch();
  return out;
}

Result<void> load_prompt_media(const MediaInput& input, const std::vector<PromptMedia>& media,
                               Request& request) {
  for (const PromptMedia& part : media) {
    const VideoSource& source = part.source;
    Result<std::shared_ptr<const VisionItem>> item =
        part.video ? input.store->load(digest_of(source), part.video->num_bytes,
                                       [&] { return input.videos->process(source, *part.video); })
                   : input.store->load(source.files.front());
    if (!item) {
      return about(part.path, std::move(item.error()));
    }
    const auto& [low, high] = (*item)->content_hash;
    request.content_keys.push_back({part.position, {low, high}});
    request.vision_items.push_back(*std::move(item));
  }
  return {};
}

}  // namespace deltaserve
