// References inside one schema document: JSON pointers and anchors.
#include <fmt/format.h>

#include <charconv>

#include "grammar/schema_compiler.h"

namespace deltaserve {
namespace {

// Percent encoding first, then ~1 and ~0 (RFC 6901, section 6).
std::string unescape_token(std::string_view token) {
  std::string decoded;
  for (size_t i = 0; i < token.size(); ++i) {
    unsigned value = 0;
    if (token[i] == '%' && i + 2 < token.size() &&
        std::from_chars(&token[i + 1], &token[i + 3], value, 16).ptr == &token[i + 3]) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += token[i];
    }
  }
  std::string result;
  for (size_t i = 0; i < decoded.size(); ++i) {
    if (decoded[i] == '~' && i + 1 < decoded.size() &&
        (decoded[i + 1] == '0' || decoded[i + 1] == '1')) {
      result += decoded[++i] == '0' ? '~' : '/';
    } else {
      result += decoded[i];
    }
  }
  return result;
}

const json::Value* step(const json::Value& value, const std::string& token) {
  if (value.is_object()) {
    return value.get_object().if_contains(token);
  }
  if (value.is_array()) {
    size_t index = 0;
    const auto [end, failed] = std::from_chars(token.data(), token.data() + token.size(), index);
    if (failed == std::errc() && end == token.data() + token.size()) {
      return value.get_array().if_contains(index);
    }
  }
  return nullptr;
}

}  // namespace

std::optional<SchemaCompiler::Part> SchemaCompiler::resolve(const Part& part,
                                                            std::string_view reference) {
  std::string_view rest = reference;
  const json::Value* id = root_.is_object() ? root_.get_object().if_contains("$id") : nullptr;
  if (id != nullptr && id->is_string() && rest.starts_with(std::string_view(id->get_string()))) {
    rest.remove_prefix(id->get_string().size());
    if (rest.empty()) rest = "#";
  }
  const json::Value* target = nullptr;
  if (rest == "#") {
    target = &root_;
  } else if (rest.starts_with("#/")) {
    target = &root_;
    rest.remove_prefix(1);
    while (target != nullptr && !rest.empty()) {
      rest.remove_prefix(1);  // the slash
      const std::string_view token = rest.substr(0, rest.find('/'));
      rest.remove_prefix(token.size());
      target = step(*target, unescape_token(token));
    }
  } else if (rest.starts_with('#')) {
    target = find_anchor(root_, rest.substr(1));
  } else {
    refuse(part.path, fmt::format("'$ref' to '{}': only references inside the schema itself "
                                  "are supported.",
                                  reference));
    return std::nullopt;
  }
  if (target == nullptr || (!target->is_object() && !target->is_bool())) {
    refuse(part.path, fmt::format("'$ref' to '{}' leads to no schema.", reference));
    return std::nullopt;
  }
  return Part{target, std::string(reference)};
}

const json::Value* SchemaCompiler::find_anchor(const json::Value& value,
                                               std::string_view name) const {
  if (value.is_array()) {
    for (const json::Value& item : value.get_array()) {
      if (const json::Value* found = find_anchor(item, name)) return found;
    }
  } else if (value.is_object()) {
    if (const json::Value* anchor = value.get_object().if_contains("$anchor");
        anchor != nullptr && anchor->is_string() &&
        std::string_view(anchor->get_string()) == name) {
      return &value;
    }
    for (const auto& [key, item] : value.get_object()) {
      if (const json::Value* found = find_anchor(item, name)) return found;
    }
  }
  return nullptr;
}

}  // namespace deltaserve
