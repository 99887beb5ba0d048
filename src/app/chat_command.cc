// The `chat` command: read a line, render the conversation, stream the answer.
#include "app/chat_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "app/loaded_model.h"
#include "app/local_engine.h"
#include "app/sampling_defaults.h"
#include "json/json.h"
#include "text/detokenizer.h"

namespace deltaserve {

namespace {

constexpr std::string_view kThinkOpen = "<think>\n";
constexpr std::string_view kThinkClose = "</think>";
constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

// Splits the streamed answer at </think> and prints it, the thought dimmed on a terminal.
class AnswerPrinter {
 public:
  AnswerPrinter(bool thinking, bool colour) : thinking_(thinking), colour_(colour) {
    if (thinking_ && colour_) fmt::print("{}", kDim);
  }

  // Pieces are whole tokens, and </think> is one token, so it never spans two pieces.
  void push(std::string_view piece) {
    const size_t close = thinking_ ? piece.find(kThinkClose) : std::string_view::npos;
    if (close == std::string_view::npos) {
      (thinking_ ? reasoning_ : content_) += piece;
      fmt::print("{}", piece);
    } else {
      reasoning_ += piece.substr(0, close);
      fmt::print("{}", piece.substr(0, close));
      end_thought();
      content_ += piece.substr(close + kThinkClose.size());
      fmt::print("{}", piece.substr(close + kThinkClose.size()));
    }
    std::fflush(stdout);
  }

  void finish() {
    end_thought();
    fmt::print("\n");
  }

  json::Object message() const {
    json::Object message;
    message["role"] = "assistant";
    message["content"] =
        content_.substr(std::min(content_.size(), content_.find_first_not_of('\n')));
    message["reasoning_content"] = reasoning_;
    return message;
  }

 private:
  void end_thought() {
    if (thinking_ && colour_) fmt::print("{}", kPlain);
    thinking_ = false;
  }

  bool thinking_;
  bool colour_;
  std::string reasoning_;
  std::string content_;
};

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, const RenderedPrompt& prompt) {
  std::vector<TextSpan> spans;
  spans.reserve(prompt.spans.size());
  for (const auto& span : prompt.spans) {
    spans.push_back({std::string_view(prompt.text).substr(span.begin, span.end - span.begin),
                     span.from_template});
  }
  return tokenizer.encode(spans);
}

Result<json::Object> answer(const ChatOptions& options, const LoadedModel& loaded,
                            LocalEngine& engine, const json::Array& messages) {
  json::Object variables;
  variables["messages"] = messages;
  variables["add_generation_prompt"] = true;
  variables["enable_thinking"] = options.thinking;
  const auto prompt = loaded.chat_template->render(variables);
  if (!prompt) return std::unexpected(prompt.error());

  Request request;
  request.prompt_token_ids = encode_prompt(*loaded.tokenizer, *prompt);
  request.eos_token_ids = loaded.eos_token_ids;
  request.sampling = default_sampling(loaded.generation);
  if (options.temperature) request.sampling.temperature = static_cast<float>(*options.temperature);
  request.sampling.seed = options.seed;
  const auto room =
      engine.memory_plan().max_model_len - static_cast<int64_t>(request.prompt_token_ids.size());
  request.sampling.max_tokens = options.max_tokens > 0 ? options.max_tokens : room;
  if (room < 1) {
    return invalid("the conversation has filled the context; start again with /reset");
  }

  AnswerPrinter printer(prompt->text.ends_with(kThinkOpen), isatty(STDOUT_FILENO) != 0);
  Detokenizer detokenizer(*loaded.tokenizer, true);
  const auto ran = engine.run(std::move(request), [&](const ChoiceOutput& output) {
    for (const int32_t id : output.token_ids) printer.push(detokenizer.push(id));
    return true;
  });
  printer.push(detokenizer.finish());
  printer.finish();
  if (!ran) return std::unexpected(ran.error());
  return printer.message();
}

}  // namespace

int run_chat(const ChatOptions& options) {
  auto loaded = load_model_directory(options.model);
  if (!loaded) return report_failure(loaded.error());
  if (!loaded->chat_template) {
    return report_failure(
        invalid("this checkpoint has no chat template; use `deltaserve generate`").error());
  }
  EngineOptions engine_options = options.engine;
  engine_options.max_num_seqs = 1;
  engine_options.sampling_vocab_size = loaded->tokenizer->vocab_size();
  auto engine = LocalEngine::start(*loaded->model, engine_options);
  if (!engine) return report_failure(engine.error());

  json::Array first;
  if (!options.system.empty()) first.push_back({{"role", "system"}, {"content", options.system}});
  json::Array messages = first;
  const bool interactive = isatty(STDIN_FILENO) != 0;
  if (interactive) fmt::print("/quit ends the chat, /reset forgets it.\n");
  std::string line;
  while (true) {
    if (interactive) {
      fmt::print("> ");
      std::fflush(stdout);
    }
    if (!std::getline(std::cin, line) || line == "/quit") return 0;
    if (line.empty()) continue;
    if (line == "/reset") {
      messages = first;
      continue;
    }
    messages.push_back({{"role", "user"}, {"content", line}});
    auto message = answer(options, *loaded, **engine, messages);
    if (message) {
      messages.push_back(std::move(*message));
    } else {
      report_failure(message.error());
      messages.pop_back();
    }
  }
}

}  // namespace deltaserve
