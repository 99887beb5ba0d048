// The border between the template language and the rest of the server: files in, errors as values
// out, the origin of every byte beside the text.
#include "chat/chat_template.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/read_file.h"
#include "chat/jinja_error.h"
#include "chat/jinja_interpreter.h"
#include "chat/jinja_limits.h"
#include "chat/jinja_parser.h"

namespace deltaserve {

namespace fs = std::filesystem;

struct ChatTemplate::Impl {
  std::string source;
  jinja::Template compiled;
  // bos_token and the like, as Hugging Face passes them to every template.
  std::vector<std::pair<std::string, std::string>> constants;
};

namespace {

constexpr std::string_view kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};

// tokenizer_config.json of a large vocabulary has some 100 KiB; far beyond is another file.
constexpr size_t kMaxConfigBytes = size_t{64} << 20;

// A JSON object file; an empty object if there is no such file.
Result<json::Object> read_object(const fs::path& path) {
  if (!has_file(path)) {
    return json::Object();
  }
  const Result<std::string> text = read_file(path, kMaxConfigBytes);
  if (!text) {
    return invalid(text.error().message);
  }
  Result<json::Value> value = json::parse(*text);
  if (!value) {
    return invalid(fmt::format("{}: {}", path.string(), value.error().message));
  }
  if (!value->is_object()) {
    return invalid(fmt::format("{}: an object is expected", path.string()));
  }
  return std::move(value->get_object());
}

// The template in a `chat_template` key: a string, or the entry named "default" of a list.
Result<std::optional<std::string>> template_of(const json::Object& config, const fs::path& path) {
  const json::Value* value = config.if_contains("chat_template");
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (value->is_string()) {
    return std::string(value->get_string());
  }
  if (value->is_array()) {
    for (const json::Value& entry : value->get_array()) {
      const json::Object* object = entry.if_object();
      const json::Value* name = object != nullptr ? object->if_contains("name") : nullptr;
      const json::Value* text = object != nullptr ? object->if_contains("template") : nullptr;
      if (name != nullptr && text != nullptr && *name == "default" && text->is_string()) {
        return std::string(text->get_string());
      }
    }
  }
  return invalid(
      fmt::format("{}: chat_template is neither a string nor a list with an entry "
                  "named \"default\"",
                  path.string()));
}

struct FoundTemplate {
  std::string source;
  fs::path path;
};

Result<FoundTemplate> find_template(const fs::path& directory, const json::Object& config) {
  const fs::path plain = directory / "chat_template.jinja";
  if (has_file(plain)) {
    Result<std::string> text = read_file(plain, kMaxConfigBytes);
    if (!text) {
      return invalid(text.error().message);
    }
    return FoundTemplate{*std::move(text), plain};
  }
  const fs::path separate = directory / "chat_template.json";
  const Result<json::Object> object = read_object(separate);
  if (!object) {
    return std::unexpected(object.error());
  }
  const fs::path config_path = directory / "tokenizer_config.json";
  for (const auto& [source, path] :
       {std::pair(&*object, separate), std::pair(&config, config_path)}) {
    Result<std::optional<std::string>> text = template_of(*source, path);
    if (!text) {
      return std::unexpected(text.error());
    }
    if (*text) {
      return FoundTemplate{**std::move(text), path};
    }
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("{}: no chat template: chat_template.jinja, chat_template.json and the "
                          "chat_template key of tokenizer_config.json are missing",
                          directory.string()));
}

void add_special_tokens(const json::Object& config,
                        std::vector<std::pair<std::string, std::string>>& constants) {
  for (const std::string_view name : kSpecialTokens) {
    const json::Value* value = config.if_contains(name);
    if (value != nullptr && value->is_object()) {
      value = value->get_object().if_contains("content");
    }
    if (value != nullptr && value->is_string()) {
      constants.emplace_back(std::string(name), std::string(value->get_string()));
    }
  }
}

std::vector<RenderedPrompt::Span> spans_of(const jinja::Text& text) {
  std::vector<RenderedPrompt::Span> spans;
  size_t begin = 0;
  bool from_template = text.first_from_template();
  const auto add = [&](size_t end) {
    spans.push_back({begin, end, from_template});
    begin = end;
    from_template = !from_template;
  };
  for (const size_t cut : text.cuts()) {
    add(cut);
  }
  if (text.size() > begin) {
    add(text.size());
  }
  return spans;
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

const std::string& ChatTemplate::source() const {
  return impl_->source;
}

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::compile(std::string_view source) {
  auto impl = std::make_unique<Impl>();
  impl->source = std::string(source);
  try {
    impl->compiled = jinja::parse_template(source);
  } catch (const jinja::TemplateFailure& failure) {
    return invalid(fmt::format("chat template: {}", failure.what()), "chat_template");
  }
  return std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(impl)));
}

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::load(const fs::path& directory) {
  const Result<json::Object> config = read_object(directory / "tokenizer_config.json");
  if (!config) {
    return std::unexpected(config.error());
  }
  const Result<FoundTemplate> found = find_template(directory, *config);
  if (!found) {
    return std::unexpected(found.error());
  }
  Result<std::unique_ptr<ChatTemplate>> result = compile(found->source);
  if (!result) {
    return invalid(fmt::format("{}: {}", found->path.string(), result.error().message));
  }
  add_special_tokens(*config, (*result)->impl_->constants);
  return result;
}

Result<RenderedPrompt> ChatTemplate::render(const json::Object& variables) const {
  jinja::Interpreter interpreter(impl_->compiled);
  try {
    for (const auto& [name, value] : impl_->constants) {
      interpreter.define_constant(name, value);
    }
    for (const auto& [name, value] : variables) {
      interpreter.define(name, value);
    }
    const jinja::Text text = interpreter.render();
    RenderedPrompt prompt;
    prompt.spans = spans_of(text);
    prompt.text = text.bytes();
    return prompt;
  } catch (const jinja::TemplateFailure& failure) {
    const bool worded = failure.kind == jinja::FailureKind::kRaised ||
                        failure.kind == jinja::FailureKind::kUndefined;
    return invalid(worded ? std::string(failure.what())
                          : fmt::format("{} (line {} of the chat template)", failure.what(),
                                        interpreter.line()),
                   "messages");
  }
}

}  // namespace deltaserve
