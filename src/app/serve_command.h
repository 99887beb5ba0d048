// `deltaserve serve`: the HTTP server, its flags, and the order of start and stop. The port is open
// before the model is loaded, so that health checks see "loading" instead of a refused connection.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "api/chat_settings.h"
#include "app/cli_options.h"
#include "app/media_options.h"
#include "server/server_options.h"

namespace deltaserve {

struct ServeOptions {
  ModelOptions model;
  EngineOptions engine;
  ServerOptions server;
  ChatFlags chat;
  MediaFlags media;
  std::vector<std::string> served_model_names;  // none: the directory's name
  std::filesystem::path port_file;              // gets the port number once requests are served
  int32_t max_n = 128;
  bool allow_special_tokens_in_content = false;
  double drain_seconds = 30.0;
  double sse_keep_alive_seconds = 0.0;
};

void add_serve_options(CLI::App& command, ServeOptions& options);
int run_serve(const ServeOptions& options);

}  // namespace deltaserve
