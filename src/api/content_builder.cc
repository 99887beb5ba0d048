#include "api/content_builder.h"

#include <fmt/format.h>

#include "json/fields.h"

namespace deltaserve {

Result<json::Value> build_content(const json::Value& content, const std::string& path,
                                  const AddPart& add) {
  if (content.is_string()) {
    return content;
  }
  if (!content.is_array()) {
    return invalid(fmt::format("'{}' must be a string or an array of parts, got {}.", path,
                               json::kind_name(content)),
                   path);
  }
  ContentBuilder builder;
  const json::Array& parts = content.get_array();
  for (size_t i = 0; i < parts.size(); ++i) {
    const Result<void> added = add(parts[i], fmt::format("{}[{}]", path, i), builder);
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  return builder.take();
}

}  // namespace deltaserve
