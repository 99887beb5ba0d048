// Subcommands and their options. Each add_* function registers one command; its callback stores the
// exit code.
#include "app/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "app/bench_command.h"
#include "app/chat_command.h"
#include "app/cli_options.h"
#include "app/doctor_command.h"
#include "app/flag_values.h"
#include "app/generate_command.h"
#include "app/make_model_command.h"
#include "app/parse_command.h"
#include "app/quality_command.h"
#include "app/quantize_command.h"
#include "app/render_command.h"
#include "app/serve_command.h"
#include "app/verify_command.h"

namespace deltaserve {

namespace {

constexpr int kUsageError = 2;

// One line: what is wrong and which help says more.
std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  std::string what = error.what();
  std::ranges::replace(what, '\n', ' ');
  const auto commands = app->get_subcommands();
  if (const auto rest = app->remaining(); commands.empty() && !rest.empty()) {
    what = fmt::format("there is no command \"{}\"", rest.front());
  }
  return fmt::format("error: {}; see `deltaserve {}--help`\n", what,
                     commands.empty() ? "" : commands.front()->get_name() + " ");
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& summary,
                      const std::string& examples) {
  CLI::App& command = *app.add_subcommand(name, summary);
  command.footer("Examples:\n" + examples);
  return command;
}

// Options live as long as the command does: its callback holds them.
template <typename Options>
void run_with(CLI::App& command, std::shared_ptr<Options> options, int (*run)(const Options&),
              int& exit_code) {
  command.callback([options, run, &exit_code] { exit_code = run(*options); });
}

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "serve", "Serve a checkpoint over an OpenAI-compatible HTTP API",
                  "  deltaserve serve models/tiny\n"
                  "  deltaserve serve /models/Qwen3.5-4B --host 0.0.0.0 --port 8000 --api-key KEY");
  auto options = std::make_shared<ServeOptions>();
  add_serve_options(command, *options);
  run_with(command, options, run_serve, exit_code);
}

void add_chat(CLI::App& app, int& exit_code) {
  CLI::App& command = add_command(app, "chat", "Chat in the terminal",
                                  "  deltaserve chat models/tiny\n"
                                  "  deltaserve chat models/tiny --no-thinking --temperature 0");
  auto options = std::make_shared<ChatOptions>();
  add_model_options(command, options->model);
  add_engine_options(command, options->engine);
  command.add_option("--system", options->system, "System message");
  command.add_flag("!--no-thinking", options->thinking, "Answer without thinking first");
  command
      .add_option("--max-tokens", options->max_tokens,
                  "Longest answer, 0 for the rest of the context")
      ->check(whole_number(0));
  command.add_option("--temperature", options->temperature, "0 is greedy")
      ->check(number_in(0.0, 2.0));
  command.add_option("--seed", options->seed, "Same seed, same text")->check(whole_number(0));
  run_with(command, options, run_chat, exit_code);
}

void add_generate(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "generate", "Continue a prompt as plain text",
                  "  deltaserve generate models/tiny --prompt 'Once upon a time' --stream\n"
                  "  deltaserve generate models/tiny --prompt '1 2 3' --temperature 0");
  auto options = std::make_shared<GenerateOptions>();
  add_model_options(command, options->model);
  add_engine_options(command, options->engine);
  command.add_option("--prompt", options->prompt, "Text to continue")->required();
  command.add_option("--max-tokens", options->max_tokens, "Longest continuation")
      ->check(whole_number(1))
      ->capture_default_str();
  command.add_option("--temperature", options->temperature, "0 is greedy")
      ->check(number_in(0.0, 2.0));
  command.add_option("--seed", options->seed, "Same seed, same text")->check(whole_number(0));
  command.add_flag("--stream", options->stream, "Print tokens as they come");
  run_with(command, options, run_generate, exit_code);
}

void add_verify(CLI::App& app, int& exit_code) {
  CLI::App& command = add_command(
      app, "verify", "Compare a checkpoint's logits with recorded ones",
      "  deltaserve verify MODEL MODEL/cases.safetensors --dtype float32 --tolerance 1e-3");
  auto options = std::make_shared<VerifyCommandOptions>();
  add_model_options(command, options->model);
  add_verify_options(command, *options);
  run_with(command, options, run_verify, exit_code);
}

void add_bench(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "bench", "Measure prefill and decode speed",
                  "  deltaserve bench models/tiny -p 512 -n 64 -b 1,4,16\n"
                  "  deltaserve bench /tmp/qwen3.5-0.8b -p 128,512,2048 --json\n"
                  "  deltaserve bench qwen3.5-27b --random-weights -p 4096 -b 1,32");
  auto options = std::make_shared<BenchOptions>();
  add_model_options(command, options->model);
  command.add_option("-p,--prompt-len", options->prompt_lens, "Prompt lengths to prefill")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("-n,--num-generate", options->num_generate, "Decode steps to time")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("-b,--batch-size", options->batch_sizes, "Sequences decoded at once")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      .add_option("--context", options->context_len,
                  "Tokens before the decoded ones, 0 for the first prompt length")
      ->check(CLI::Range(0, 1 << 20));
  command.add_option("-r,--repetitions", options->repetitions, "Timed prefills of each length")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  auto* random =
      command.add_flag("--random-weights", options->random_weights,
                       "MODEL is a preset of make-model; its weights are made in memory");
  command
      .add_option("--layers", options->num_layers, "Only the preset's first N layers, 0 for all")
      ->check(whole_number(0))
      ->needs(random);
  command.add_flag("--json", options->json, "Print JSON");
  run_with(command, options, run_bench, exit_code);
}

void add_make_model(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "make-model", "Write a checkpoint of a released shape with random weights",
                  "  deltaserve make-model qwen3.5-0.8b --out /tmp/qwen3.5-0.8b\n"
                  "  deltaserve make-model qwen3.5-35b-a3b --layers 4 --out /tmp/35b-cut");
  auto options = std::make_shared<MakeModelCommandOptions>();
  add_make_model_options(command, *options);
  run_with(command, options, run_make_model, exit_code);
}

void add_quantize(CLI::App& app, int& exit_code) {
  CLI::App& command = add_command(
      app, "quantize", "Write a copy of a checkpoint with 8-bit or 4-bit weights",
      "  deltaserve quantize models/tiny --to int8 --out /tmp/tiny-int8\n"
      "  deltaserve quantize /models/Qwen3.5-4B --to int4 --out /models/Qwen3.5-4B-int4");
  auto options = std::make_shared<QuantizeCommandOptions>();
  add_quantize_options(command, *options);
  run_with(command, options, run_quantize, exit_code);
}

void add_quality(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "quality", "Measure what quantisation costs, over a text",
                  "  deltaserve quality models/tiny --text README.md\n"
                  "  deltaserve quality /models/Qwen3.5-4B --text FILE --against int4,DIRECTORY");
  auto options = std::make_shared<QualityOptions>();
  add_model_options(command, options->model);
  add_quality_options(command, *options);
  run_with(command, options, run_quality, exit_code);
}

void add_render(CLI::App& app, int& exit_code) {
  CLI::App& command = add_command(app, "render", "Print the prompt that a chat request becomes",
                                  "  deltaserve render models/tiny < request.json\n"
                                  "  deltaserve render models/tiny --json < request.json");
  auto options = std::make_shared<RenderOptions>();
  command.add_option("model", options->directory, "Checkpoint directory")
      ->required()
      ->check(CLI::ExistingDirectory);
  command.add_flag("--json", options->json, "Print JSON");
  run_with(command, options, run_render, exit_code);
}

void add_parse(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "parse", "Parse a model's raw text into an assistant message",
                  "  deltaserve parse models/tiny --thinking on < text\n"
                  "  deltaserve parse models/tiny --tools tools.json --pieces --stream < pieces");
  auto options = std::make_shared<ParseCommandOptions>();
  command.add_option("model", options->directory, "Checkpoint directory")
      ->required()
      ->check(CLI::ExistingDirectory);
  command.add_option("--tools", options->tools, "File with the request's tools");
  command
      .add_option("--thinking", options->thinking,
                  "Whether the prompt opened a thought, default as the template does")
      ->check(CLI::IsMember({"on", "off"}));
  command.add_option("--finish", options->finish, "Why the text is over")
      ->check(CLI::IsMember({"stop", "length"}))
      ->capture_default_str();
  command.add_flag("--pieces", options->pieces, "The input is a JSON array of strings");
  command.add_flag("--stream", options->stream, "Print every delta");
  run_with(command, options, run_parse, exit_code);
}

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App& command =
      add_command(app, "doctor", "Show the machine, the memory plan and the kernels",
                  "  deltaserve doctor\n"
                  "  deltaserve doctor models/tiny --max-model-len 32768");
  auto options = std::make_shared<DoctorOptions>();
  add_model_options(command, options->model);
  command.get_option("model")->required(false);
  add_engine_options(command, options->engine);
  run_with(command, options, run_doctor, exit_code);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("deltaserve: an inference server for hybrid Gated DeltaNet language models");
  app.set_version_flag("--version", DELTASERVE_VERSION);
  app.require_subcommand(1);
  app.failure_message(usage_message);
  int exit_code = 0;
  add_serve(app, exit_code);
  add_chat(app, exit_code);
  add_generate(app, exit_code);
  add_verify(app, exit_code);
  add_bench(app, exit_code);
  add_make_model(app, exit_code);
  add_quantize(app, exit_code);
  add_quality(app, exit_code);
  add_render(app, exit_code);
  add_parse(app, exit_code);
  add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_code;
}

}  // namespace deltaserve
