// Where a reference inside a schema document leads: JSON pointers, anchors, and the URIs that `$id`
// gives to schemas inside it (draft 2020-12, section 8.2). Nothing is fetched.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/json.h"

namespace deltaserve {

class SchemaResources {
 public:
  // `root` must outlive this.
  explicit SchemaResources(const json::Value& root);

  struct Target {
    const json::Value* schema = nullptr;  // null: not found
    bool in_document = false;             // the reference's document is this one
  };
  // `from`: a schema of the document that holds the reference.
  Target resolve(const json::Value& from, std::string_view reference) const;

 private:
  struct Resource {
    std::string uri;  // absolute where the document says so, without a fragment
    const json::Value* root = nullptr;
  };

  void collect(const json::Value& value, size_t resource);
  const json::Value* find_anchor(const Resource& resource, const json::Value& value,
                                 std::string_view name) const;

  std::vector<Resource> resources_;
  std::unordered_map<const json::Value*, size_t> owners_;  // of every object: its resource
};

}  // namespace deltaserve
