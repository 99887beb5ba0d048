// The `chat` command: read a line, render the conversation, stream the answer.
#include "app/chat_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "app/loaded_model.h"
#include "app/local_engine.h"
#include "chat/output_message.h"
#include "chat/output_parser.h"
#include "engine/default_sampling.h"
#include "json/json.h"

namespace deltaserve {

namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";

// Prints an answer while it comes, the thought dimmed on a terminal. There are no tools here, so a
// call that the model writes all the same is shown as the text it is.
class AnswerPrinter {
 public:
  explicit AnswerPrinter(bool colour) : colour_(colour) {}

  void push(const std::vector<OutputEvent>& events) {
    message_.add(events);
    for (const OutputEvent& event : events) print(event);
    std::fflush(stdout);
  }

  void finish() {
    set_dimmed(false);
    fmt::print("\n");
  }

  json::Object message() const { return message_.message(); }

 private:
  void print(const OutputEvent& event) {
    const bool thought = event.kind == OutputEvent::Kind::kReasoning;
    if (!thought && in_thought_) fmt::print("\n\n");
    in_thought_ = thought;
    set_dimmed(thought);
    fmt::print("{}", event.text);
  }

  void set_dimmed(bool dimmed) {
    if (colour_ && dimmed != dimmed_) fmt::print("{}", dimmed ? kDim : kPlain);
    dimmed_ = dimmed;
  }

  bool colour_;
  bool in_thought_ = false;
  bool dimmed_ = false;
  OutputMessage message_;
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

  AnswerPrinter printer(isatty(STDOUT_FILENO) != 0);
  OutputOptions output_options;
  output_options.start = output_start(prompt->text);
  OutputTokenParser parser(*loaded.tokenizer, output_options);
  OutputEnd end = OutputEnd::kLength;
  const auto ran = engine.run(std::move(request), [&](const ChoiceOutput& output) {
    for (const int32_t id : output.token_ids) printer.push(parser.push(id));
    if (output.finish_reason == FinishReason::kStop) end = OutputEnd::kStop;
    return true;
  });
  printer.push(parser.finish(end));
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
  engine_options.max_frame_patches = 0;
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
