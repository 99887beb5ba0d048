// Both sources become URLs.
#include "api/messages_api_image.h"

#include <fmt/format.h>

#include <optional>

#include "api/field_reader.h"

namespace deltaserve::messages_api {
namespace {

Result<std::string> url_of(FieldReader& source) {
  const std::string type = source.string("type").value_or("");
  (void)source.string("media_type");  // a string; files say themselves what they are
  const std::string_view key = type == "url" ? "url" : "data";
  const std::optional<std::string> value = source.string(key);
  if (source.ok() && type != "base64" && type != "url") {
    source.refuse("type", fmt::format("'{}' must be 'base64' or 'url', got '{}'.",
                                      source.name("type"), type));
  }
  if (source.ok() && !value) {
    source.refuse(key, fmt::format("'{}' is missing: the image has no content.", source.name(key)));
  }
  if (!source.ok()) {
    return std::unexpected(source.error());
  }
  return type == "url" ? *value : fmt::format("data:;base64,{}", *value);
}

}  // namespace

Result<json::Object> chat_image(const ContentBlock& block, const std::string& path) {
  FieldReader fields(*block.object, path);
  const json::Object* source = fields.object("source");
  if (fields.ok() && source == nullptr) {
    fields.refuse("source", fmt::format("'{}.source' is missing.", path));
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  FieldReader nested(*source, path + ".source");
  const Result<std::string> url = url_of(nested);
  if (!url) {
    return std::unexpected(url.error());
  }
  return json::Object{{"type", "image_url"}, {"image_url", *url}};
}

}  // namespace deltaserve::messages_api
