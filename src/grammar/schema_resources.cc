// One walk over the document finds its resources; references are looked up by URI.
#include "grammar/schema_resources.h"

#include <algorithm>
#include <charconv>
#include <optional>

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

// `pointer` is empty or begins with a slash.
const json::Value* follow_pointer(const json::Value& root, std::string_view pointer) {
  const json::Value* target = &root;
  while (target != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    target = step(*target, unescape_token(token));
  }
  return target;
}

bool has_scheme(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon != std::string_view::npos && colon > 0 && uri.find('/') > colon;
}

// "a/./b/../c" to "a/c" (RFC 3986, section 5.2.4).
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    const bool last = end == path.size();
    if (segment == "..") {
      if (kept.size() > 1) kept.pop_back();
    } else if (segment != ".") {
      kept.push_back(segment);
    }
    if (last && (segment == "." || segment == "..")) kept.push_back("");
    begin = end + 1;
  }
  std::string result;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0) result += '/';
    result += kept[i];
  }
  return result;
}

// A reference without fragment against a base (RFC 3986, section 5.2.2; queries stay in the path).
std::string resolve_uri(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  if (has_scheme(reference) || base.empty()) return std::string(reference);
  const size_t scheme = base.find(':');
  const std::string prefix(base.substr(0, scheme == std::string_view::npos ? 0 : scheme + 1));
  if (reference.starts_with("//")) return prefix + std::string(reference);
  std::string_view rest = base.substr(prefix.size());
  std::string authority;
  if (rest.starts_with("//")) {
    const size_t end = std::min(rest.find('/', 2), rest.size());
    authority = std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  if (reference.starts_with('/')) return prefix + authority + without_dots(reference);
  const std::string folder(rest.substr(0, rest.rfind('/') + 1));
  const std::string path = (folder.empty() && !authority.empty() ? "/" : folder);
  return prefix + authority + without_dots(path + std::string(reference));
}

std::string_view before_fragment(std::string_view uri) {
  return uri.substr(0, uri.find('#'));
}

// Values that are no schemas, whatever stands in them.
bool is_data(std::string_view key) {
  return key == "enum" || key == "const" || key == "default" || key == "examples";
}

}  // namespace

SchemaResources::SchemaResources(const json::Value& root) {
  resources_.push_back({"", &root});
  collect(root, 0);
}

void SchemaResources::collect(const json::Value& value, size_t resource) {
  if (value.is_array()) {
    for (const json::Value& item : value.get_array()) collect(item, resource);
  } else if (value.is_object()) {
    const json::Value* id = value.get_object().if_contains("$id");
    if (id != nullptr && id->is_string() && !id->get_string().starts_with('#')) {
      std::string uri = resolve_uri(resources_[resource].uri,
                                    before_fragment(std::string_view(id->get_string())));
      if (resources_[resource].root == &value) {
        resources_[resource].uri = std::move(uri);
      } else {
        resource = resources_.size();
        resources_.push_back({std::move(uri), &value});
      }
    }
    owners_.emplace(&value, resource);
    for (const auto& [key, item] : value.get_object()) {
      if (!is_data(key)) collect(item, resource);
    }
  }
}

SchemaResources::Target SchemaResources::resolve(const json::Value& from,
                                                 std::string_view reference) const {
  const auto owner = owners_.find(&from);
  const Resource& own = resources_[owner == owners_.end() ? 0 : owner->second];
  const std::string_view address = before_fragment(reference);
  const std::string uri = resolve_uri(own.uri, address);
  const auto named = std::ranges::find(resources_, uri, &Resource::uri);
  const Resource* resource = address.empty() ? &own : nullptr;
  if (resource == nullptr && named != resources_.end()) resource = &*named;
  if (resource == nullptr) {
    return {};
  }
  std::string_view fragment = reference.substr(address.size());
  if (fragment.starts_with('#')) fragment.remove_prefix(1);
  if (fragment.empty() || fragment.starts_with('/')) {
    return {follow_pointer(*resource->root, fragment), true};
  }
  return {find_anchor(*resource, *resource->root, fragment), true};
}

const json::Value* SchemaResources::find_anchor(const Resource& resource, const json::Value& value,
                                                std::string_view name) const {
  if (value.is_array()) {
    for (const json::Value& item : value.get_array()) {
      if (const json::Value* found = find_anchor(resource, item, name)) return found;
    }
  }
  const auto owner = owners_.find(&value);
  if (owner == owners_.end() || &resources_[owner->second] != &resource) {
    return nullptr;  // no schema, or one of an embedded resource, whose anchors are its own
  }
  const json::Value* anchor = value.get_object().if_contains("$anchor");
  if (anchor != nullptr && anchor->is_string() && std::string_view(anchor->get_string()) == name) {
    return &value;
  }
  for (const auto& [key, item] : value.get_object()) {
    if (const json::Value* found = find_anchor(resource, item, name)) return found;
  }
  return nullptr;
}

}  // namespace deltaserve
