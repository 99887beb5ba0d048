// Content blocks to chat messages. Every block is checked here, with the client's own names, so
// that reading the chat messages finds nothing to complain about.
#include "api/messages_api_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "api/content_builder.h"
#include "api/field_reader.h"
#include "api/messages_api_blocks.h"
#include "api/messages_api_image.h"
#include "api/messages_api_signature.h"
#include "json/fields.h"

namespace deltaserve::messages_api {
namespace {

// A text or image block.
Result<void> add_block(const ContentBlock& block, const std::string& path,
                       ContentBuilder& content) {
  if (block.type == "text") {
    const Result<std::string> text = required_string(block, "text", path);
    if (!text) {
      return std::unexpected(text.error());
    }
    content.add_text(*text);
    return {};
  }
  Result<json::Object> image = chat_image(block, path);
  if (!image) {
    return std::unexpected(std::move(image.error()));
  }
  content.add_part(*std::move(image));
  return {};
}

bool begins_with_error(std::string_view text) {
  constexpr std::string_view kWord = "error";
  return text.size() >= kWord.size() &&
         std::equal(kWord.begin(), kWord.end(), text.begin(), [](char want, char got) {
           return want == static_cast<char>(std::tolower(static_cast<unsigned char>(got)));
         });
}

// Templates have no place for is_error, so the text says it, unless it already does.
void mark_error(json::Value& content) {
  constexpr std::string_view kMark = "Error: ";
  if (content.is_string()) {
    boost::json::string& text = content.get_string();
    if (!begins_with_error(text)) {
      text.insert(0, kMark);
    }
    return;
  }
  json::Array& parts = content.get_array();
  parts.insert(parts.begin(), json::Object{{"type", "text"}, {"text", kMark}});
}

// A string, or text and image blocks.
Result<json::Value> read_result_content(const json::Value& blocks, const std::string& path) {
  if (blocks.is_string()) {
    return blocks;
  }
  if (!blocks.is_array()) {
    return wrong_content(&blocks, path);
  }
  ContentBuilder content;
  const Result<void> read =
      for_each_block(blocks.get_array(), path,
                     [&](const ContentBlock& block, const std::string& block_path) -> Result<void> {
                       if (block.type == "text" || block.type == "image") {
                         return add_block(block, block_path, content);
                       }
                       return refused_block(block.type, block_path, "text and image");
                     });
  if (!read) {
    return std::unexpected(read.error());
  }
  return content.take();
}

Result<json::Value> tool_message(const ContentBlock& block, const std::string& path) {
  FieldReader fields(*block.object, path);
  const std::optional<std::string> id = fields.string("tool_use_id");
  const bool is_error = fields.boolean("is_error", false);
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  json::Value content = "";
  if (const json::Value* blocks = fields.value("content")) {
    Result<json::Value> read = read_result_content(*blocks, path + ".content");
    if (!read) {
      return std::unexpected(std::move(read.error()));
    }
    content = *std::move(read);
  }
  if (is_error) {
    mark_error(content);
  }
  json::Object message{{"role", "tool"}, {"content", std::move(content)}};
  if (id) {
    message["tool_call_id"] = *id;
  }
  return json::Value(std::move(message));
}

Result<void> add_user(const json::Value* content, const std::string& path, json::Array& out) {
  ContentBuilder own;  // what is not a tool result
  bool has_own = true;
  if (content != nullptr && content->is_array()) {
    has_own = content->get_array().empty();
    const Result<void> read = for_each_block(
        content->get_array(), path,
        [&](const ContentBlock& block, const std::string& block_path) -> Result<void> {
          if (block.type == "text" || block.type == "image") {
            has_own = true;
            return add_block(block, block_path, own);
          }
          if (block.type != "tool_result") {
            return refused_block(block.type, block_path, "text, image and tool_result");
          }
          Result<json::Value> message = tool_message(block, block_path);
          if (!message) {
            return std::unexpected(std::move(message.error()));
          }
          out.push_back(*std::move(message));
          return {};
        });
    if (!read) {
      return read;
    }
  } else if (content != nullptr && content->is_string()) {
    own.add_text(content->get_string());
  } else {
    return wrong_content(content, path);
  }
  if (has_own) {
    out.push_back(json::Object{{"role", "user"}, {"content", own.take()}});
  }
  return {};
}

Result<json::Value> tool_call(const ContentBlock& block, const std::string& path) {
  const Result<std::string> name = required_string(block, "name", path);
  if (!name) {
    return std::unexpected(name.error());
  }
  FieldReader fields(*block.object, path);
  const std::optional<std::string> id = fields.string("id");
  const json::Object* input = fields.object("input");
  if (fields.ok() && name->empty()) {
    fields.refuse("name", fmt::format("'{}.name' must not be empty.", path));
  }
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  json::Object call{
      {"type", "function"},
      {"function",
       json::Object{{"name", *name}, {"arguments", input != nullptr ? *input : json::Object()}}}};
  if (id) {
    call["id"] = *id;
  }
  return json::Value(std::move(call));
}

// Of a thinking block: its text, or what its signature carries instead.
Result<std::string> thought_of(const ContentBlock& block, const std::string& path) {
  Result<std::string> thinking = required_string(block, "thinking", path);
  FieldReader fields(*block.object, path);
  const std::string signature = fields.string("signature").value_or("");
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (thinking && thinking->empty()) {
    return thought_in(signature).value_or("");
  }
  return thinking;
}

struct AssistantTurn {
  std::string text;
  std::string thinking;
  bool has_thinking = false;
  json::Array calls;
};

Result<void> take_assistant_block(const ContentBlock& block, const std::string& path,
                                  AssistantTurn& turn) {
  if (block.type == "text") {
    return append_text(block, path, turn.text);
  }
  if (block.type == "redacted_thinking") {
    return {};
  }
  if (block.type == "thinking") {
    const Result<std::string> thought = thought_of(block, path);
    if (!thought) {
      return std::unexpected(thought.error());
    }
    turn.has_thinking = true;
    turn.thinking += turn.thinking.empty() ? "" : "\n\n";
    turn.thinking += *thought;
    return {};
  }
  if (block.type != "tool_use") {
    return refused_block(block.type, path, "text, thinking, redacted_thinking and tool_use");
  }
  Result<json::Value> call = tool_call(block, path);
  if (!call) {
    return std::unexpected(std::move(call.error()));
  }
  turn.calls.push_back(*std::move(call));
  return {};
}

Result<void> add_assistant(const json::Value* content, const std::string& path, json::Array& out) {
  AssistantTurn turn;
  if (content != nullptr && content->is_array()) {
    const Result<void> read = for_each_block(
        content->get_array(), path, [&](const ContentBlock& block, const std::string& block_path) {
          return take_assistant_block(block, block_path, turn);
        });
    if (!read) {
      return read;
    }
  } else if (content != nullptr && content->is_string()) {
    turn.text = std::string(content->get_string());
  } else {
    return wrong_content(content, path);
  }
  json::Object message{{"role", "assistant"}, {"content", turn.text}};
  if (turn.has_thinking) {
    message["reasoning_content"] = turn.thinking;
  }
  if (!turn.calls.empty()) {
    message["tool_calls"] = std::move(turn.calls);
  }
  out.push_back(std::move(message));
  return {};
}

Result<void> add_system(const json::Value* content, const std::string& path, json::Array& out) {
  const Result<std::string> text = text_of_blocks(content, path, "\n\n");
  if (!text) {
    return std::unexpected(text.error());
  }
  out.push_back(json::Object{{"role", "system"}, {"content", *text}});
  return {};
}

Result<void> add_message(const json::Value& value, const std::string& path, json::Array& out) {
  if (!value.is_object()) {
    return invalid(fmt::format("'{}' must be an object, got {}.", path, json::kind_name(value)),
                   path);
  }
  FieldReader fields(value.get_object(), path);
  const std::string role = fields.string("role").value_or("");
  const json::Value* content = fields.value("content");
  const std::string content_path = path + ".content";
  if (!fields.ok()) {
    return std::unexpected(fields.error());
  }
  if (role == "user") {
    return add_user(content, content_path, out);
  }
  if (role == "assistant") {
    return add_assistant(content, content_path, out);
  }
  if (role == "system") {
    return add_system(content, content_path, out);
  }
  if (role.empty()) {
    return invalid(fmt::format("'{}.role' is missing.", path), path + ".role");
  }
  return invalid(
      fmt::format("'{}.role' must be 'user', 'assistant' or 'system', got '{}'.", path, role),
      path + ".role");
}

}  // namespace

Result<json::Array> chat_messages(const json::Value* system, const json::Array& messages) {
  if (messages.empty()) {
    return invalid("'messages' must not be empty.", "messages");
  }
  json::Array out;
  if (system != nullptr) {
    const Result<std::string> text = text_of_blocks(system, "system", "\n\n");
    if (!text) {
      return std::unexpected(text.error());
    }
    if (!text->empty()) {
      out.push_back(json::Object{{"role", "system"}, {"content", *text}});
    }
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const Result<void> added = add_message(messages[i], fmt::format("messages[{}]", i), out);
    if (!added) {
      return std::unexpected(added.error());
    }
  }
  return out;
}

}  // namespace deltaserve::messages_api
