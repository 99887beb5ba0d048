// Parts are checked here with the names of this API, but for what only chat's reader knows of
// images.
#include "api/responses_content.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "api/content_builder.h"
#include "api/field_reader.h"
#include "json/fields.h"

namespace deltaserve::responses_api {
namespace {

std::unexpected<Error> refused_part(const std::string& path, std::string_view type) {
  if (type == "input_image") {
    return invalid(
        fmt::format("'{}' is an image: only user messages and outputs of calls may hold images.",
                    path),
        path);
  }
  if (type == "input_file" || type == "input_audio") {
    return invalid(fmt::format("'{}' has type '{}', which this server does not take: parts are "
                               "'input_text' and 'input_image'.",
                               path, type),
                   path);
  }
  return invalid(fmt::format("'{}.type' must be 'input_text', 'output_text' or 'input_image', got "
                             "'{}'.",
                             path, type),
                 path + ".type");
}

Result<std::string> text_of_part(FieldReader& fields, const std::string& type,
                                 const std::string& path) {
  const bool refusal = type == "refusal";
  if (!refusal && type != "input_text" && type != "output_text" && type != "text") {
    return refused_part(path, type);
  }
  return fields.required_string(refusal ? "refusal" : "text");
}

// The part of a chat message that says the same; what is in it is checked there.
Result<json::Object> chat_image(FieldReader& fields, const std::string& path) {
  const json::Value* url = fields.value("image_url");
  if (url == nullptr) {
    return invalid(fmt::format("'{}' is an image without 'image_url': this server stores no files, "
                               "so there is nothing for 'file_id' to name.",
                               path),
                   path);
  }
  json::Object part{{"type", "input_image"}, {"image_url", *url}};
  if (const json::Value* detail = fields.value("detail")) {
    part["detail"] = *detail;
  }
  return part;
}

Result<void> add_part(const json::Value& part, const std::string& path, bool may_hold_images,
                      ContentBuilder& content) {
  if (!part.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(part)),
                   path);
  }
  FieldReader fields(part.get_object(), path);
  const std::string type = fields.string("type").value_or("");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (type == "input_image" && may_hold_images) {
    Result<json::Object> image = chat_image(fields, path);
    if (!image) {
      return std::unexpected(std::move(image.error()));
    }
    content.add_part(*std::move(image));
    return {};
  }
  const Result<std::string> text = text_of_part(fields, type, path);
  if (!text) {
    return std::unexpected(text.error());
  }
  content.add_text(*text);
  return {};
}

}  // namespace

Result<json::Value> read_item_content(const json::Value& value, const std::string& path,
                                      bool may_hold_images) {
  return build_content(value, path,
                       [&](const json::Value& part, const std::string& part_path, auto& content) {
                         return add_part(part, part_path, may_hold_images, content);
                       });
}

}  // namespace deltaserve::responses_api
