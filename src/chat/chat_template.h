// A checkpoint's chat template: Jinja source compiled once, rendered per request with the
// environment Hugging Face gives it (trim_blocks, lstrip_blocks, Python's tojson, raise_exception,
// strftime_now). Rendering never touches shared state and is bounded in steps and output size.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve {

// The rendered prompt with the origin of each stretch: text that came out of the template itself,
// or text that came from the request's values (which must not turn into control tokens).
struct RenderedPrompt {
  struct Span {
    size_t begin = 0;  // byte range in `text`
    size_t end = 0;
    bool from_template = true;
  };
  std::string text;
  std::vector<Span> spans;  // cover `text` in order, neighbours differ in origin
};

class ChatTemplate {
 public:
  // chat_template.jinja, or the `chat_template` key of tokenizer_config.json (a string, or a list
  // of {name, template} of which "default" is taken). Errors name file, line and construct.
  static Result<std::unique_ptr<ChatTemplate>> load(const std::filesystem::path& directory);
  static Result<std::unique_ptr<ChatTemplate>> compile(std::string_view source);
  ~ChatTemplate();

  // `variables`: messages, tools, add_generation_prompt, and any chat_template_kwargs. An error
  // raised by the template (raise_exception, undefined access) is kInvalidArgument with its text.
  Result<RenderedPrompt> render(const json::Object& variables) const;

  const std::string& source() const;

  struct Impl;

 private:
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace deltaserve
