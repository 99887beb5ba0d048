// bench_sim: replays a trace of agent sessions through the real scheduler and prefix cache against
// a cost model of one H200. The report goes to stdout and is the same for the same arguments; what
// depends on this machine goes to stderr.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <string>

#include "simulation.h"
#include "trace.h"

namespace {

void add_options(CLI::App& app, std::string& trace, deltaserve::SimulationOptions& options) {
  app.add_option("trace", trace, "What bench/replay/make_trace wrote")->required();
  app.add_option("--model", options.preset, "A preset of make-model")->capture_default_str();
  app.add_option("--concurrency", options.replay.concurrency,
                 "Sessions side by side; 0: each at the trace's time")
      ->capture_default_str();
  app.add_option("--pace", options.replay.pace, "Factor on pauses and times of arrival")
      ->capture_default_str();
  app.add_option("--max-model-len", options.replay.max_model_len, "Longer requests are refused")
      ->capture_default_str();
  app.add_option("--max-num-seqs", options.max_num_seqs)->capture_default_str();
  app.add_option("--max-num-batched-tokens", options.max_num_batched_tokens)->capture_default_str();
  app.add_option("--long-prefill-token-threshold", options.long_prefill_token_threshold)
      ->capture_default_str();
  app.add_option("--inter-token-target", options.inter_token_target,
                 "Seconds, as the server's; 0: no limit")
      ->capture_default_str();
  app.add_option("--gpu-memory-utilization", options.memory_utilization)->capture_default_str();
  app.add_option("--snapshot-share", options.snapshot_share,
                 "Of the memory for snapshots and KV, what goes to snapshots")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app.add_flag("!--no-prefix-caching", options.prefix_cache);
  app.add_option("--check-every", options.check_every,
                 "Check the engine's invariants every N steps; 0: never")
      ->capture_default_str();
  app.add_option("--gpu-memory", options.rates.memory_bytes, "Bytes")->capture_default_str();
  app.add_option("--copy-rate", options.rates.copy_rate, "Bytes/s of the memory")
      ->capture_default_str();
  app.add_option("--matrix-flops", options.rates.matrix_flops, "Operations/s of large matrices")
      ->capture_default_str();
  app.add_option("--host-step", options.rates.host_step, "Seconds of CPU work a step")
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulated replay of a trace on one H200");
  std::string path;
  deltaserve::SimulationOptions options;
  options.replay.max_model_len = 262'144;
  add_options(app, path, options);
  CLI11_PARSE(app, argc, argv);
  const auto trace = deltaserve::read_trace(path);
  if (!trace) {
    fmt::print(stderr, "error: {}\n", trace.error().message);
    return 1;
  }
  const std::clock_t start = std::clock();
  const auto result = deltaserve::simulate(*trace, options);
  if (!result) {
    fmt::print(stderr, "error: {}\n", result.error().message);
    return 1;
  }
  fmt::print("{}", result->text);
  const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  fmt::print(stderr, "simulated in {:.1f} s of this CPU: {:.0f} steps/s\n", taken,
             static_cast<double>(result->num_steps) / taken);
  return 0;
}
