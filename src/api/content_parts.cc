// One function a kind of part. Types are those of OpenAI's two APIs, and those that vLLM and Qwen's
// own tools have for videos; others are refused by name.
#include "api/content_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/content_builder.h"
#include "api/field_reader.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr std::array<std::string_view, 2> kImageParts = {"image_url", "input_image"};
constexpr std::array<std::string_view, 2> kVideoParts = {"video_url", "video"};
constexpr std::array<std::string_view, 5> kOtherMedia = {"image", "input_audio", "audio_url",
                                                         "audio", "file"};
// Frames a second that a request may ask for: more than cameras take.
constexpr double kMinFps = 0.001;
constexpr double kMaxFps = 1000.0;
constexpr std::array<std::string_view, 4> kTextParts = {"text", "input_text", "output_text",
                                                        "refusal"};

bool is_one_of(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class ContentReader {
 public:
  ContentReader(std::vector<MediaPart>* media, ContentBuilder& content)
      : media_(media), content_(content) {}

  Result<void> add(const json::Value& part, const std::string& path) {
    if (part.is_string()) {
      content_.add_text(part.get_string());
      return {};
    }
    if (!part.is_object()) {
      return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(part)),
                     path);
    }
    FieldReader fields(part.get_object(), path);
    const std::string type = fields.string("type").value_or("");
    if (!fields.ok()) {
      return std::unexpected(fields.error());
    }
    if (is_one_of(kImageParts, type)) {
      return add_image(fields, path);
    }
    if (is_one_of(kVideoParts, type)) {
      return add_video(fields, type, path);
    }
    if (is_one_of(kOtherMedia, type)) {
      return invalid(fmt::format("'{}' has type '{}', which this server does not take: parts are "
                                 "'text', 'image_url' and 'video_url'.",
                                 path, type),
                     path);
    }
    return add_text(fields, type, path);
  }

 private:
  Result<void> add_text(FieldReader& fields, const std::string& type, const std::string& path) {
    if (!is_one_of(kTextParts, type)) {
      return invalid(fmt::format("'{}.type' must be 'text', 'image_url' or 'video_url', got '{}'.",
                                 path, type),
                     path + ".type");
    }
    const Result<std::string> text = fields.required_string(type == "refusal" ? type : "text");
    if (!text) {
      return std::unexpected(text.error());
    }
    content_.add_text(*text);
    return {};
  }

  Result<void> add_media(MediaPart part) {
    if (media_ == nullptr) {
      return invalid(
          fmt::format("'{0}' is {2} {1}: only user and tool messages may hold {1}s.", part.path,
                      name_of(part.kind), part.kind == MediaKind::kImage ? "an" : "a"),
          part.path);
    }
    content_.add_part({{"type", name_of(part.kind)}});
    media_->push_back(std::move(part));
    return {};
  }

  Result<void> add_image(FieldReader& fields, const std::string& path) {
    const Result<std::string_view> url = image_url(fields, path);
    if (!url) {
      return std::unexpected(url.error());
    }
    return add_media({path, MediaKind::kImage, {*url}, false, std::nullopt});
  }

  // `video_url` and `video` are a URL, {"url"} or an array of URLs of frames.
  Result<void> add_video(FieldReader& fields, const std::string& type, const std::string& path) {
    MediaPart part{path, MediaKind::kVideo, {}, false, fields.number("fps", kMinFps, kMaxFps)};
    const json::Value* source = fields.value(type);
    if (source != nullptr && source->is_object()) {
      source = source->get_object().if_contains("url");
    }
    if (!fields.ok()) {
      return std::unexpected(fields.error());
    }
    if (source != nullptr && source->is_string()) {
      part.urls.emplace_back(source->get_string());
      return add_media(std::move(part));
    }
    part.is_frames = true;
    if (source != nullptr && source->is_array()) {
      for (const json::Value& frame : source->get_array()) {
        if (!frame.is_string()) {
          return video_without_url(type, path);
        }
        part.urls.emplace_back(frame.get_string());
      }
    }
    return part.urls.empty() ? video_without_url(type, path) : add_media(std::move(part));
  }

  static Result<void> video_without_url(const std::string& type, const std::string& path) {
    return invalid(fmt::format("'{0}' is a video without a URL: '{1}' must be a string, an object "
                               "with the string 'url', or an array of the URLs of its frames.",
                               path, type),
                   path);
  }

  // `image_url` is a string or {"url", "detail"}. The checkpoint's own rule decides the size, so
  // `detail` is only checked.
  static Result<std::string_view> image_url(FieldReader& fields, const std::string& path) {
    const json::Value* url = fields.value("image_url");
    const json::Value* detail = fields.value("detail");
    if (url != nullptr && url->is_object()) {
      FieldReader nested(url->get_object(), path + ".image_url");
      detail = nested.value("detail");
      url = nested.value("url");
    }
    if (url == nullptr || !url->is_string()) {
      return invalid(fmt::format("'{}' is an image without a URL: 'image_url' must be a string or "
                                 "an object with the string 'url'.",
                                 path),
                     path);
    }
    constexpr std::array<std::string_view, 4> kDetails = {"auto", "low", "high", "original"};
    if (detail != nullptr &&
        (!detail->is_string() || !is_one_of(kDetails, std::string_view(detail->get_string())))) {
      return invalid(
          fmt::format("'{}': the image's 'detail' must be 'auto', 'low', 'high' or 'original'.",
                      path),
          path);
    }
    return std::string_view(url->get_string());
  }

  std::vector<MediaPart>* media_;
  ContentBuilder& content_;
};

}  // namespace

std::string_view name_of(MediaKind kind) {
  return kind == MediaKind::kImage ? "image" : "video";
}

Result<std::optional<json::Value>> read_content(const json::Value* content, const std::string& path,
                                                std::vector<MediaPart>* media) {
  if (content == nullptr) {
    return std::nullopt;
  }
  return build_content(*content, path,
                       [&](const json::Value& part, const std::string& part_path, auto& to) {
                         return ContentReader(media, to).add(part, part_path);
                       });
}

}  // namespace deltaserve
