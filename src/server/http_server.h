// The HTTP server: listens, spreads connections over the io threads, and stops without cutting
// answers short. It can be started before the model is loaded; ApiService then answers 503.
#pragma once

#include <cstdint>
#include <memory>

#include "api/api_service.h"
#include "engine/engine.h"
#include "server/server_options.h"

namespace deltaserve {

class HttpServer {
 public:
  // `service` must outlive the server. The server must outlive the engine's calls of the sink:
  // stop the server, stop the engine, then destroy both.
  HttpServer(ServerOptions options, const ApiService& service);
  ~HttpServer();

  // Binds, listens and starts the threads. Errors say which address could not be had and why.
  Result<void> start();

  uint16_t port() const;  // after start

  // What to give Engine::start.
  OutputSink output_sink();

  // Takes no new connections, answers what runs for up to `drain_seconds` (requests that still come
  // get 503), then closes the rest, which aborts their sequences, and joins the threads. Called
  // once, from a thread of the caller's.
  void stop(double drain_seconds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace deltaserve
