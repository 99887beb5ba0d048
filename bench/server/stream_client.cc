// Opens many streaming chat requests at once from one epoll thread and prints, as one line of JSON,
// how fast tokens came: the client of bench/server_overhead.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "loopback.h"
#include "stream_connection.h"

namespace {

using namespace deltaserve::bench;

struct Options {
  uint16_t port = 0;
  int streams = 1;
  int64_t tokens = 256;
  int64_t loopback_bytes = 0;
};

std::string request_text(int64_t tokens) {
  const std::string body = fmt::format(
      R"({{"messages":[{{"role":"user","content":"Tell me a story about a lighthouse keeper, the )"
      R"(sea and a ship that comes home."}}],"stream":true,"ignore_eos":true,"temperature":0,)"
      R"("stream_options":{{"include_usage":true}},"max_tokens":{}}})",
      tokens);
  return fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
}

template <typename Value>
double percentile(std::vector<Value>& values, double share) {
  if (values.empty()) {
    return 0.0;
  }
  const auto index =
      std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return static_cast<double>(values[index]);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// All streams to their ends.
void run(std::vector<std::unique_ptr<StreamConnection>>& connections, const std::string& request) {
  const int poll = ::epoll_create1(0);
  for (size_t i = 0; i < connections.size(); ++i) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, connections[i]->socket(), &event);
  }
  for (const auto& connection : connections) {
    connection->send(request);
  }
  std::array<epoll_event, 512> events;
  size_t open = connections.size();
  while (open > 0) {
    const int ready = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      StreamConnection& connection = *connections[events[static_cast<size_t>(i)].data.u64];
      if (!connection.read()) {
        ::epoll_ctl(poll, EPOLL_CTL_DEL, connection.socket(), nullptr);
        --open;
      }
    }
  }
  ::close(poll);
}

void report(const std::vector<std::unique_ptr<StreamConnection>>& connections, double seconds,
            double cpu) {
  std::vector<double> first;
  std::vector<float> gaps;
  int64_t events = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  for (const auto& connection : connections) {
    first.push_back(connection->first_seconds());
    gaps.insert(gaps.end(), connection->gaps().begin(), connection->gaps().end());
    events += connection->num_events();
    tokens += connection->num_tokens();
    bytes += connection->num_bytes();
  }
  fmt::print(
      R"({{"seconds":{:.6f},"tokens":{},"events":{},"bytes":{},"first_p50":{:.6f},"first_p99":{:.6f},)"
      R"("gap_p50":{:.6f},"gap_p99":{:.6f},"client_cpu":{:.6f}}})"
      "\n",
      seconds, tokens, events, bytes, percentile(first, 0.5), percentile(first, 0.99),
      percentile(gaps, 0.5), percentile(gaps, 0.99), cpu);
}

int measure(const Options& options) {
  if (options.loopback_bytes > 0) {
    const LoopbackResult result =
        measure_loopback(options.streams, options.tokens * options.streams, options.loopback_bytes);
    fmt::print(R"({{"sender_cpu_us":{:.3f},"messages_per_second":{:.0f}}})"
               "\n",
               result.sender_cpu_us, result.messages_per_second);
    return 0;
  }
  std::vector<std::unique_ptr<StreamConnection>> connections;
  for (int i = 0; i < options.streams; ++i) {
    connections.push_back(std::make_unique<StreamConnection>(options.port));
  }
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  run(connections, request_text(options.tokens));
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  report(connections, seconds.count(), cpu_seconds() - cpu);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures chat streams");
  app.add_option("--port", options.port, "Of the server on this machine");
  app.add_option("--streams", options.streams, "At once")->check(CLI::Range(1, 10000));
  app.add_option("--tokens", options.tokens, "Of each stream")->check(CLI::Range(1, 1 << 20));
  app.add_option("--loopback-bytes", options.loopback_bytes,
                 "Measure bare sockets instead, with messages of that size")
      ->check(CLI::Range(0, 1 << 20));
  CLI11_PARSE(app, argc, argv);
  try {
    return measure(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
