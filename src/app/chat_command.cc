// The `chat` command: read a line, render the conversation, stream the answer.
#include "app/chat_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "app/loaded_model.h"
#include "app/local_engine.h"
#include "chat/output_message.h"
#include "chat/output_parser.h"
#include "engine/default_sampling.h"
#include "json/json.h"
#include "text/utf8.h"

namespace deltaserve {

namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr int kSignalExitBase = 128;  // the shell's exit code of a process that a signal ended

// Ctrl-C may come in the middle of a thought: the terminal must not stay dimmed.
void restore_terminal_and_leave(int signal) {
  const ssize_t wrote = ::write(STDOUT_FILENO, "\x1b[0m\n", 5);
  _exit(wrote < 0 ? 1 : kSignalExitBase + signal);
}

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

// The next line that is typed, as valid UTF-8; nothing at the end of the input.
std::optional<std::string> read_line(bool interactive) {
  if (interactive) {
    fmt::print("> ");
    std::fflush(stdout);
  }
  std::string line;
  if (!std::getline(std::cin, line)) {
    if (interactive) fmt::print("\n");
    return std::nullopt;
  }
  if (line.ends_with('\r')) line.pop_back();
  return utf8::repair(line);
}

// Until the input ends; 1 if it came from a program and something was not answered.
int converse(const ChatOptions& options, const LoadedModel& loaded, LocalEngine& engine) {
  json::Array first;
  if (!options.system.empty()) {
    first.push_back({{"role", "system"}, {"content", utf8::repair(options.system)}});
  }
  json::Array messages = first;
  const bool interactive = isatty(STDIN_FILENO) != 0;
  if (interactive) fmt::print("/quit ends the chat, /reset forgets it.\n");
  int exit_code = 0;
  while (const auto line = read_line(interactive)) {
    if (*line == "/quit") break;
    if (line->empty()) continue;
    if (*line == "/reset") {
      messages = first;
      continue;
    }
    messages.push_back({{"role", "user"}, {"content", *line}});
    auto message = answer(options, loaded, engine, messages);
    if (message) {
      messages.push_back(std::move(*message));
    } else {
      const int failed = report_failure(message.error());
      if (!interactive) exit_code = failed;
      messages.pop_back();
    }
  }
  return exit_code;
}

}  // namespace

int run_chat(const ChatOptions& options) {
  if (isatty(STDOUT_FILENO) != 0) ::signal(SIGINT, restore_terminal_and_leave);
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
  return converse(options, *loaded, **engine);
}

}  // namespace deltaserve
