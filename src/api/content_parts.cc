// One function a kind of part. Types are those of OpenAI's two APIs; those that only vLLM has are
// refused by name.
#include "api/content_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/content_builder.h"
#include "api/field_reader.h"
#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr std::array<std::string_view, 2> kImageParts = {"image_url", "input_image"};
constexpr std::array<std::string_view, 7> kOtherMedia = {
    "image", "video_url", "video", "input_audio", "audio_url", "audio", "file"};
constexpr std::array<std::string_view, 4> kTextParts = {"text", "input_text", "output_text",
                                                        "refusal"};

bool is_one_of(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

class ContentReader {
 public:
  explicit ContentReader(std::vector<ImagePart>* images) : images_(images) {}

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
    if (is_one_of(kOtherMedia, type)) {
      return invalid(fmt::format("'{}' has type '{}', which this server does not take: parts are "
                                 "'text' and 'image_url'.",
                                 path, type),
                     path);
    }
    return add_text(fields, type, path);
  }

  json::Value take() { return content_.take(); }

 private:
  Result<void> add_text(FieldReader& fields, const std::string& type, const std::string& path) {
    if (!is_one_of(kTextParts, type)) {
      return invalid(fmt::format("'{}.type' must be 'text' or 'image_url', got '{}'.", path, type),
                     path + ".type");
    }
    const std::string key = type == "refusal" ? "refusal" : "text";
    const std::optional<std::string> text = fields.string(key);
    if (!fields.ok()) {
      return std::unexpected(fields.error());
    }
    if (!text) {
      return invalid(fmt::format("'{}.{}' is missing.", path, key), path + "." + key);
    }
    content_.add_text(*text);
    return {};
  }

  Result<void> add_image(FieldReader& fields, const std::string& path) {
    if (images_ == nullptr) {
      return invalid(
          fmt::format("'{}' is an image: only user and tool messages may hold images.", path),
          path);
    }
    const Result<std::string_view> url = image_url(fields, path);
    if (!url) {
      return std::unexpected(url.error());
    }
    content_.add_part({{"type", "image"}});
    images_->push_back({path, *url});
    return {};
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
          fmt::format("'{}': the image's 'detail' must be 'auto', 'low' or 'high'.", path), path);
    }
    return std::string_view(url->get_string());
  }

  std::vector<ImagePart>* images_;
  ContentBuilder content_;
};

}  // namespace

Result<std::optional<json::Value>> read_content(const json::Value* content, const std::string& path,
                                                std::vector<ImagePart>* images) {
  if (content == nullptr) {
    return std::nullopt;
  }
  if (content->is_string()) {
    return json::Value(content->get_string());
  }
  if (!content->is_array()) {
    return invalid(fmt::format("'{}' must be a string or an array of parts, got {}.", path,
                               json::kind_name(*content)),
                   path);
  }
  ContentReader reader(images);
  const json::Array& parts = content->get_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Result<void> added = reader.add(parts[i], fmt::format("{}[{}]", path, i));
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  return reader.take();
}

}  // namespace deltaserve
