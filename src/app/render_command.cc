// The `render` command: the API's own way from a chat request to prompt tokens, printed.
#include "app/render_command.h"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <string>

#include "api/api_service.h"
#include "api/chat_prompt.h"
#include "api/messages.h"
#include "app/cli_options.h"
#include "app/media_options.h"
#include "chat/chat_template.h"
#include "json/json.h"
#include "model/config.h"
#include "tensor/checkpoint_json.h"
#include "text/tokenizer.h"

namespace deltaserve {

namespace {

// Part of a character, alone no UTF-8, comes out as U+FFFD.
std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  return tokenizer.decode({id}, false);
}

void print_json(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  json::Array tokens;
  for (const int32_t id : ids) {
    tokens.push_back(json::Object{
        {"id", id}, {"text", token_text(tokenizer, id)}, {"special", tokenizer.is_added(id)}});
  }
  const json::Object out{{"prompt", tokenizer.decode(ids, false)},
                         {"token_ids", json::Array(ids.begin(), ids.end())},
                         {"tokens", std::move(tokens)}};
  fmt::print("{}\n", json::dumps(out));
}

void print_text(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  fmt::print("{}\n\n{} tokens (* special):\n", tokenizer.decode(ids, false), ids.size());
  for (const int32_t id : ids) {
    fmt::print("{:>8} {} {}\n", id, tokenizer.is_added(id) ? '*' : ' ',
               json::dumps(json::Value(token_text(tokenizer, id))));
  }
}

// What the request's pictures need more of the checkpoint; null if it has none, or if the model
// takes text only.
Result<std::shared_ptr<const MediaInput>> media_input(const std::filesystem::path& directory,
                                                      const Tokenizer& tokenizer,
                                                      const json::Object& request) {
  const json::Value* messages = request.if_contains("messages");
  if (messages == nullptr || !messages->is_array()) return nullptr;
  const auto normalized = normalize_messages(messages->get_array());
  if (!normalized || normalized->media.empty()) return nullptr;
  const auto json = read_checkpoint_json(directory, "config.json");
  if (!json) return std::unexpected(json.error());
  if (!json->is_object()) return invalid("images and videos need the checkpoint's config.json");
  const auto config = parse_model_config(json->get_object());
  if (!config) return std::unexpected(config.error());
  return make_media_input({}, directory, *config, tokenizer);
}

Result<std::vector<int32_t>> prompt_ids(const std::filesystem::path& directory,
                                        const Tokenizer& tokenizer,
                                        const ChatTemplate& chat_template, std::string_view body) {
  const auto request = parse_body(body);
  if (!request) return std::unexpected(request.error());
  ServingContext context;
  context.tokenizer = &tokenizer;
  context.chat_template = &chat_template;
  auto media = media_input(directory, tokenizer, *request);
  if (!media) return std::unexpected(media.error());
  context.media = *std::move(media);
  FieldReader fields(*request);
  auto prompt = build_chat_prompt(context, fields);
  if (!prompt) return std::unexpected(prompt.error());
  return std::move(prompt->token_ids);
}

}  // namespace

int run_render(const RenderOptions& options) {
  const auto tokenizer = Tokenizer::load(options.directory);
  if (!tokenizer) return report_failure(tokenizer.error());
  const auto chat_template = ChatTemplate::load(options.directory);
  if (!chat_template) return report_failure(chat_template.error());
  const std::string body{std::istreambuf_iterator<char>(std::cin),
                         std::istreambuf_iterator<char>()};
  const auto ids = prompt_ids(options.directory, **tokenizer, **chat_template, body);
  if (!ids) return report_failure(ids.error());
  if (options.json) {
    print_json(**tokenizer, *ids);
  } else {
    print_text(**tokenizer, *ids);
  }
  return 0;
}

}  // namespace deltaserve
