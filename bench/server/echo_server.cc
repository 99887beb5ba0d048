// The whole server, API and engine over an EchoRunner, with a checkpoint's tokenizer and template:
// everything that `deltaserve serve` does but the forward pass.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "api/api_service.h"
#include "echo_runner.h"
#include "engine/threaded_engine.h"
#include "server/http_server.h"

namespace {

using namespace deltaserve;

constexpr int64_t kMaxModelLen = 8192;

struct Options {
  std::filesystem::path model;
  std::filesystem::path port_file;
  ServerOptions server;
  EchoOptions echo;
  int64_t step_us = 0;
};

std::unique_ptr<ThreadedEngine> make_echo_engine(const EchoOptions& echo,
                                                 const Tokenizer& tokenizer) {
  ThreadedEngineOptions options;
  options.core.num_blocks = static_cast<int32_t>(echo.num_slots * kMaxModelLen / kBlockSize);
  options.core.num_state_slots = static_cast<int32_t>(echo.num_slots);
  options.core.vocab_size = tokenizer.vocab_size();
  options.core.scheduler.max_num_seqs = echo.num_slots;
  options.core.scheduler.max_num_batched_tokens = 8192 + echo.num_slots;
  options.limits.max_model_len = kMaxModelLen;
  options.limits.vocab_size = tokenizer.vocab_size();
  options.limits.max_choices = 65536;
  options.max_queue_len = 65536;
  return std::make_unique<ThreadedEngine>(options, std::make_unique<EchoRunner>(echo, tokenizer));
}

int serve(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const auto tokenizer = Tokenizer::load(options.model);
  const auto chat_template = ChatTemplate::load(options.model);
  if (!tokenizer || !chat_template) {
    fmt::print(stderr, "error: {}\n",
               (tokenizer ? chat_template.error() : tokenizer.error()).message);
    return 1;
  }
  const auto engine = make_echo_engine(options.echo, **tokenizer);
  ApiService service("bench");
  HttpServer server(options.server, service);
  if (const auto started = server.start(); !started) {
    fmt::print(stderr, "error: {}\n", started.error().message);
    return 1;
  }
  engine->start(server.output_sink());
  auto context = std::make_shared<ServingContext>();
  context->tokenizer = tokenizer->get();
  context->chat_template = chat_template->get();
  context->engine = engine.get();
  context->model_ids = {"echo"};
  context->grammars = std::make_shared<GrammarStore>(*context->tokenizer, context->eos_token_ids);
  context->max_model_len = kMaxModelLen;
  service.set_ready(std::move(context));
  std::ofstream(options.port_file) << server.port() << '\n';
  int signal = 0;
  sigwait(&signals, &signal);
  server.stop(0.0);
  engine->stop(0.0);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.server.port = 0;
  options.server.log_requests = false;
  options.echo.num_slots = 1024;
  CLI::App app("A deltaserve without a model, to measure the server");
  app.add_option("model", options.model, "Checkpoint whose tokenizer and template to use")
      ->required();
  app.add_option("--port-file", options.port_file, "Gets the port number")->required();
  app.add_option("--step-us", options.step_us, "Least time of a step")
      ->check(CLI::Range(0, 1 << 30));
  app.add_option("--reasoning-tokens", options.echo.reasoning_tokens, "Of each answer")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--max-num-seqs", options.echo.num_slots, "Sequences at once")
      ->check(CLI::Range(1, 8192));
  app.add_option("--io-threads", options.server.num_io_threads, "Threads for sockets")
      ->check(CLI::Range(1, 64));
  app.add_flag("--log-requests", options.server.log_requests, "A line for each request");
  CLI11_PARSE(app, argc, argv);
  options.echo.step = std::chrono::microseconds(options.step_us);
  return serve(options);
}
