// Content blocks of an Anthropic request: what every reader of them needs. Errors are
// kInvalidArgument naming the block or its key.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::messages_api {

struct ContentBlock {
  const json::Object* object = nullptr;
  std::string type;
};

Result<ContentBlock> read_block(const json::Value& value, const std::string& path);

// The string `key` of a block, which must be there.
Result<std::string> required_string(const ContentBlock& block, std::string_view key,
                                    const std::string& path);

// Appends the `text` of a text block.
Result<void> append_text(const ContentBlock& block, const std::string& path, std::string& out);

// A `content` that is a string, or text blocks alone; null is an error.
Result<std::string> text_of_blocks(const json::Value* content, const std::string& path,
                                   std::string_view separator);

// For a block that must not stand here; `allowed` says which may.
std::unexpected<Error> refused_block(const std::string& type, const std::string& path,
                                     std::string_view allowed);

// For a `content` that is missing (null) or neither a string nor an array.
std::unexpected<Error> wrong_content(const json::Value* content, const std::string& path);

// Calls `take(block, path)`, which returns Result<void>, for every block up to the first error.
template <typename Take>
Result<void> for_each_block(const json::Array& blocks, const std::string& path, Take take) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string block_path = fmt::format("{}[{}]", path, i);
    const Result<ContentBlock> block = read_block(blocks[i], block_path);
    if (!block) {
      return std::unexpected(block.error());
    }
    const Result<void> taken = take(*block, block_path);
    if (!taken) {
      return taken;
    }
  }
  return {};
}

}  // namespace deltaserve::messages_api
