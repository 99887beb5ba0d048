// What can be set about the HTTP side. Every default says why it is what it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deltaserve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;  // 0: any free one
  // Formatting a token takes about a microsecond, so two threads carry thousands of streams.
  size_t num_io_threads = 2;
  size_t num_workers = 2;             // tokenising runs at 10 MB/s a thread or more
  size_t max_pending_jobs = 1024;     // requests waiting for a worker; more are answered 429
  size_t max_connections = 8192;      // more are answered 503 and closed
  bool log_requests = true;           // a line for each generation and each refusal below 500
  std::vector<std::string> api_keys;  // none: open to all
  std::vector<std::string> allowed_origins = {"*"};
  size_t max_header_bytes = size_t{64} << 10;
  size_t max_body_bytes = size_t{64} << 20;  // several large base64 images
  // Of all bodies together that are being read or wait for a worker: eight of the largest. Requests
  // beyond it are answered 503.
  size_t max_total_body_bytes = size_t{512} << 20;
  // Unsent bytes of a stream beyond which its reader counts as too slow and the answer is aborted:
  // over a thousand chunks behind.
  size_t max_outbox_bytes = size_t{4} << 20;
  std::chrono::milliseconds idle_timeout{75'000};    // between requests, longer than proxies' 60 s
  std::chrono::milliseconds header_timeout{15'000};  // from the first byte of a request
  std::chrono::milliseconds body_timeout{30'000};    // and a second more for every min_body_rate
  size_t min_body_rate = size_t{16} << 10;           // bytes a second: slower is an attack
  std::chrono::milliseconds write_timeout{60'000};   // without a byte taken by the peer
  std::chrono::milliseconds linger_timeout{3'000};   // reading on after an early refusal
  // Comment lines in a stream while there is nothing to send; 0 is off, as clients may not expect
  // them.
  std::chrono::milliseconds sse_keep_alive{0};
};

}  // namespace deltaserve
