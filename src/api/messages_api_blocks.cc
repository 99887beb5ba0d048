// Reading of content blocks; see the header.
#include "api/messages_api_blocks.h"

#include <fmt/format.h>

#include <utility>

#include "api/field_reader.h"
#include "json/fields.h"

namespace deltaserve::messages_api {

std::unexpected<Error> refused_block(const std::string& type, const std::string& path,
                                     std::string_view allowed) {
  if (type.empty()) {
    return invalid(fmt::format("'{}.type' is missing.", path), path + ".type");
  }
  if (type == "image") {
    return invalid(fmt::format("'{}' is an image: only user messages and tool results may hold "
                               "images.",
                               path),
                   path);
  }
  return invalid(
      fmt::format("'{}' is a block of type '{}'; here this server takes {}.", path, type, allowed),
      path);
}

Result<ContentBlock> read_block(const json::Value& value, const std::string& path) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(value)),
                   path);
  }
  FieldReader fields(value.get_object(), path);
  ContentBlock block{&value.get_object(), fields.string("type").value_or("")};
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  return block;
}

Result<std::string> required_string(const ContentBlock& block, std::string_view key,
                                    const std::string& path) {
  return FieldReader(*block.object, path).required_string(key);
}

std::unexpected<Error> wrong_content(const json::Value* content, const std::string& path) {
  if (content == nullptr) {
    return invalid(fmt::format("'{}' is missing.", path), path);
  }
  return invalid(fmt::format("'{}' must be a string or an array of blocks, got {}.", path,
                             json::kind_name(*content)),
                 path);
}

Result<void> append_text(const ContentBlock& block, const std::string& path, std::string& out) {
  const Result<std::string> text = required_string(block, "text", path);
  if (!text) {
    return std::unexpected(text.error());
  }
  out += *text;
  return {};
}

Result<std::string> text_of_blocks(const json::Value* content, const std::string& path,
                                   std::string_view separator) {
  if (content != nullptr && content->is_string()) {
    return std::string(content->get_string());
  }
  if (content == nullptr || !content->is_array()) {
    return wrong_content(content, path);
  }
  std::string out;
  const Result<void> read =
      for_each_block(content->get_array(), path,
                     [&](const ContentBlock& block, const std::string& block_path) -> Result<void> {
                       if (block.type != "text") {
                         return refused_block(block.type, block_path, "text");
                       }
                       if (!out.empty()) {
                         out += separator;
                       }
                       return append_text(block, block_path, out);
                     });
  if (!read) {
    return std::unexpected(read.error());
  }
  return out;
}

}  // namespace deltaserve::messages_api
