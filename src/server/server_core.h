// What all connections share. Set up before the first connection; only the atomics change.
#pragma once

#include <atomic>

#include "server/auth.h"
#include "server/byte_budget.h"
#include "server/cors.h"
#include "server/io_threads.h"
#include "server/metrics.h"
#include "server/output_dispatcher.h"
#include "server/router.h"
#include "server/server_options.h"
#include "server/worker_pool.h"

namespace deltaserve {

struct ServerCore {
  explicit ServerCore(ServerOptions server_options)
      : options(std::move(server_options)),
        body_budget(options.max_total_body_bytes),
        authenticator(options.api_keys),
        cors(options.allowed_origins),
        io(options.num_io_threads),
        dispatcher(io),
        workers(options.num_workers, options.max_pending_jobs) {}

  ServerOptions options;
  ByteBudget body_budget;  // before the queues, whose jobs hold shares
  Authenticator authenticator;
  Cors cors;
  Router router;
  Metrics metrics;
  IoThreads io;
  OutputDispatcher dispatcher;
  WorkerPool workers;
  std::atomic<bool> draining = false;
};

}  // namespace deltaserve
