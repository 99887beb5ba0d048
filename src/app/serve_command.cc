// The `serve` command: listen, load, serve until SIGINT or SIGTERM, drain.
#include "app/serve_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>

#include "api/api_service.h"
#include "app/cache_fingerprint.h"
#include "app/flag_values.h"
#include "app/loaded_model.h"
#include "app/memory_report.h"
#include "app/stop_signal.h"
#include "server/http_server.h"

namespace deltaserve {

namespace {

void add_chat_options(CLI::App& command, ChatFlags& flags) {
  command
      .add_option("--tool-call-parser", flags.tool_call_parser,
                  "Syntax of tool calls: auto (as the template has it), qwen3_coder, hermes, none")
      ->capture_default_str();
  command
      .add_option("--reasoning-parser", flags.reasoning_parser,
                  "Whether thoughts are split from content: auto, qwen3, none")
      ->capture_default_str();
  command.add_option("--default-chat-template-kwargs", flags.default_template_kwargs,
                     "JSON object of template variables; those of a request come over them");
  command.add_option("--thinking-budget-message", flags.thinking_budget_message,
                     "What ends a thought whose budget is spent (default: a newline)");
  command.add_flag("--strict-tool-call-ids", flags.strict_tool_call_ids,
                   "Refuse tool results whose tool_call_id no earlier call has, instead of a line "
                   "in the log");
}

std::vector<std::string> model_names(const ServeOptions& options) {
  if (!options.served_model_names.empty()) return options.served_model_names;
  auto path = options.model.directory.lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return {path.filename().string()};
}

std::shared_ptr<const ServingContext> make_context(const ServeOptions& options,
                                                   const ChatSettings& chat,
                                                   std::shared_ptr<const MediaInput> media,
                                                   const LoadedModel& loaded, Engine& engine) {
  auto context = std::make_shared<ServingContext>();
  context->tokenizer = loaded.tokenizer.get();
  context->chat_template = loaded.chat_template.get();
  context->engine = &engine;
  context->model_ids = model_names(options);
  context->max_model_len = engine.memory_plan().max_model_len;
  context->generation_config = loaded.generation;
  context->eos_token_ids = loaded.eos_token_ids;
  context->created = std::chrono::duration_cast<std::chrono::seconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
  context->limits.max_n = options.max_n;
  context->chat = chat;
  context->media = std::move(media);
  context->grammars = std::make_shared<GrammarStore>(*loaded.tokenizer, loaded.eos_token_ids);
  context->allow_special_tokens_in_content = options.allow_special_tokens_in_content;
  return context;
}

// A vision tower that config.json describes may have no weights.
Result<std::shared_ptr<const MediaInput>> media_input(const MediaFlags& flags,
                                                      const LoadedModel& loaded) {
  ModelConfig config = loaded.model->config();
  if (loaded.model->vision() == nullptr) config.vision.reset();
  return make_media_input(flags, loaded.checkpoint->directory(), config, *loaded.tokenizer);
}

Result<void> write_port_file(const std::filesystem::path& path, uint16_t port) {
  if (path.empty()) return {};
  std::ofstream file(path);
  file << port << '\n';
  file.close();
  if (!file) return invalid("--port-file " + path.string() + " cannot be written", "port-file");
  return {};
}

}  // namespace

void add_serve_options(CLI::App& command, ServeOptions& options) {
  add_model_options(command, options.model);
  add_engine_options(command, options.engine);
  add_chat_options(command, options.chat);
  add_media_options(command, options.media);
  ServerOptions& server = options.server;
  command.add_option("--host", server.host, "Address to listen on")->capture_default_str();
  command.add_option("--port", server.port, "Port to listen on, 0 for any free one")
      ->capture_default_str();
  command.add_option("--port-file", options.port_file,
                     "File that gets the port number when requests are served");
  command.add_option("--served-model-name", options.served_model_names,
                     "Names that requests may use, the first is reported (default: the directory)");
  command.add_option("--api-key", server.api_keys, "Keys of which requests must carry one")
      ->envname("DELTASERVE_API_KEY");
  command.add_option("--allowed-origins", server.allowed_origins, "Origins allowed by CORS")
      ->capture_default_str();
  command.add_option("--max-body-bytes", server.max_body_bytes, "Largest request body")
      ->transform(byte_size(1))
      ->capture_default_str();
  command
      .add_option("--max-total-body-bytes", server.max_total_body_bytes,
                  "Request bodies in memory at once, all together; more are answered with 503")
      ->transform(byte_size(1))
      ->capture_default_str();
  command.add_option("--max-connections", server.max_connections, "Connections at once")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--io-threads", server.num_io_threads, "Threads for sockets")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--workers", server.num_workers, "Threads for parsing and tokenising")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_option("--max-n", options.max_n, "Most choices of one request")
      ->check(CLI::Range(1, 128))
      ->capture_default_str();
  command
      .add_option("--sse-keep-alive", options.sse_keep_alive_seconds,
                  "Seconds between comment lines of a quiet stream, 0 for none")
      ->check(number_in(0.0, 3600.0));
  command
      .add_option("--drain-timeout", options.drain_seconds,
                  "Seconds that running requests may take after SIGTERM")
      ->check(number_in(0.0, 3600.0))
      ->capture_default_str();
  command.add_flag("!--disable-log-requests", server.log_requests,
                   "Write no line for requests, but for those that fail in the server");
  command.add_flag("--allow-special-tokens-in-content", options.allow_special_tokens_in_content,
                   "Let special-token text in messages become control tokens");
}

int run_serve(const ServeOptions& options) {
  const auto chat = read_chat_settings(options.chat);
  if (!chat) return report_failure(chat.error());
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads the log may leave
  StopSignal stop_signal;
  ServerOptions server_options = options.server;
  server_options.sse_keep_alive =
      std::chrono::milliseconds(static_cast<int64_t>(options.sse_keep_alive_seconds * 1000.0));

  ApiService service(DELTASERVE_VERSION);
  HttpServer server(server_options, service);
  if (const auto started = server.start(); !started) return report_failure(started.error());
  spdlog::info("loading {}; /health answers 503 until it is done",
               options.model.directory.string());

  const auto load_start = std::chrono::steady_clock::now();
  auto loaded = load_model_directory(options.model);
  Result<std::unique_ptr<Engine>> engine = std::unique_ptr<Engine>{};
  Result<std::shared_ptr<const MediaInput>> media = nullptr;
  if (loaded) media = media_input(options.media, *loaded);
  if (loaded && media) {
    EngineOptions engine_options = options.engine;
    engine_options.sampling_vocab_size = loaded->tokenizer->vocab_size();
    engine_options.max_frame_patches = *media == nullptr ? 0 : (*media)->max_patches;
    if (!engine_options.prefix_cache_dir.empty()) {
      engine_options.cache_fingerprint =
          cache_fingerprint(*loaded->checkpoint, *loaded->backend, options.model.quantization);
    }
    engine = make_engine(*loaded->model, engine_options);
  }
  if (!loaded || !media || !engine) {
    server.stop(0.0);
    if (!loaded) return report_failure(loaded.error());
    return report_failure(media ? engine.error() : media.error());
  }
  stop_signal.arm();
  (*engine)->start(server.output_sink());
  const std::string plan = describe_memory_plan((*engine)->memory_plan(), options.engine);
  std::fputs(("memory plan\n" + plan).c_str(), stderr);
  service.set_ready(make_context(options, *chat, *std::move(media), *loaded, **engine));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - load_start).count();
  spdlog::info("ready after {:.2f} s", seconds);
  fmt::print("listening on http://{}:{}\n", server_options.host, server.port());
  std::fflush(stdout);

  int exit_code = 0;
  if (const auto written = write_port_file(options.port_file, server.port()); !written) {
    exit_code = report_failure(written.error());
  } else {
    stop_signal.wait();
    spdlog::info("stopping: running requests have {:.0f} s", options.drain_seconds);
  }
  server.stop(options.drain_seconds);
  (*engine)->stop(0.0);
  return exit_code;
}

}  // namespace deltaserve
