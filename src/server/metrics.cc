// Writes the Prometheus text format, version 0.0.4.
#include "server/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace deltaserve {
namespace {

// Bucket bounds are vLLM's, so that histograms of both can be added.
const std::vector<double> kFirstTokenSeconds = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06,  0.08,
                                                0.1,   0.25,  0.5,  0.75, 1.0,  2.5,   5.0,
                                                7.5,   10.0,  20.0, 40.0, 80.0, 160.0, 640.0};
const std::vector<double> kTokenSeconds = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3, 0.4,
                                           0.5,  0.75,  1.0,  2.5,   5.0, 7.5,  10.0, 20.0};
const std::vector<double> kLatencySeconds = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,   2.5,
                                             5.0,  10.0,  15.0,  20.0,  30.0,  40.0,  50.0,
                                             60.0, 120.0, 240.0, 480.0, 960.0, 1920.0};
const std::vector<double> kTokenCounts = {1,    2,    5,    10,    20,    50,    100,    200,   500,
                                          1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000};
const std::vector<double> kChoiceCounts = {1, 2, 5, 10, 20};

void append_single(std::string_view name, std::string_view type, std::string_view help,
                   std::string_view labels, double value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {1}\n# TYPE {0} {2}\n{0}{{{3}}} {4}\n", name,
                 help, type, labels, value);
}

std::string escape_label(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

}  // namespace

Metrics::Metrics()
    : time_to_first_token_(kFirstTokenSeconds),
      inter_token_(kTokenSeconds),
      time_per_output_token_(kTokenSeconds),
      queue_time_(kLatencySeconds),
      prefill_time_(kLatencySeconds),
      decode_time_(kLatencySeconds),
      latency_(kLatencySeconds),
      prompt_tokens_(kTokenCounts),
      generation_tokens_(kTokenCounts),
      max_tokens_(kTokenCounts),
      n_(kChoiceCounts) {}

void Metrics::record_response(const std::string& route, int status) {
  const std::lock_guard lock(mutex_);
  ++responses_[{route, status}];
}

void Metrics::record_generation(const GenerationRecord& record) {
  if (record.outcome != GenerationOutcome::kFinished) {
    return;
  }
  const auto observe = [](Histogram& histogram, const std::optional<double>& value) {
    if (value) {
      histogram.observe(*value);
    }
  };
  observe(time_to_first_token_, record.first_token);
  observe(time_per_output_token_, record.inter_token);
  observe(queue_time_, record.queue);
  observe(prefill_time_, record.prefill);
  if (record.first_token) {
    decode_time_.observe(record.total - *record.first_token);
  }
  latency_.observe(record.total);
  prompt_tokens_.observe(static_cast<double>(record.usage.prompt_tokens));
  generation_tokens_.observe(static_cast<double>(record.usage.completion_tokens));
  max_tokens_.observe(static_cast<double>(record.max_tokens));
  n_.observe(static_cast<double>(record.n));
}

std::string Metrics::text(const ServingContext* context) const {
  std::string out;
  if (context != nullptr) {
    const std::string labels =
        fmt::format("engine=\"0\",model_name=\"{}\"", escape_label(context->model_ids.front()));
    append_engine(*context, labels, out);
    append_requests(labels, out);
  }
  append_http(out);
  return out;
}

void Metrics::append_engine(const ServingContext& context, const std::string& labels,
                            std::string& out) const {
  const EngineStats stats = context.engine->stats();
  const auto single = [&](std::string_view name, std::string_view type, std::string_view help,
                          double value) { append_single(name, type, help, labels, value, out); };
  const auto count = [](int64_t value) { return static_cast<double>(value); };
  single("vllm:num_requests_running", "gauge", "Sequences in the running batch.",
         count(stats.num_running));
  single("vllm:num_requests_waiting", "gauge", "Requests waiting to be scheduled.",
         count(stats.num_waiting));
  single("vllm:kv_cache_usage_perc", "gauge", "KV cache blocks in use, 1 is all of them.",
         stats.kv_cache_usage);
  single("vllm:num_preemptions_total", "counter", "Sequences preempted to free memory.",
         count(stats.num_preemptions));
  single("vllm:prompt_tokens_total", "counter", "Prompt tokens processed.",
         count(stats.prompt_tokens));
  single("vllm:generation_tokens_total", "counter", "Tokens generated.",
         count(stats.generation_tokens));
  single("vllm:prefix_cache_queries_total", "counter",
         "Prompt tokens looked up in the prefix cache.", count(stats.prefix_query_tokens));
  single("vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.",
         count(stats.prefix_hit_tokens));
  single("deltaserve:prefix_cache_blocks", "gauge", "KV blocks held by the prefix cache.",
         count(stats.cached_blocks));
  single("deltaserve:prefix_cache_snapshots", "gauge", "State snapshots held by the prefix cache.",
         count(stats.num_snapshots));
  single("deltaserve:prefix_cache_snapshot_bytes", "gauge", "Bytes of those snapshots.",
         count(stats.snapshot_bytes));
  single("deltaserve:prefix_cache_evicted_blocks_total", "counter",
         "KV blocks that the prefix cache gave up.", count(stats.evicted_blocks));
  single("deltaserve:prefix_cache_evicted_snapshots_total", "counter",
         "State snapshots that the prefix cache gave up.", count(stats.evicted_snapshots));
  single("deltaserve:prefix_cache_swapped_blocks", "gauge", "KV blocks in host memory.",
         count(stats.swapped_blocks));
  single("deltaserve:prefix_cache_swapped_snapshots", "gauge", "State snapshots in host memory.",
         count(stats.swapped_snapshots));
  single("deltaserve:prefix_cache_swapped_out_blocks_total", "counter",
         "KV blocks copied to host memory.", count(stats.swapped_out_blocks));
  single("deltaserve:prefix_cache_swapped_in_blocks_total", "counter",
         "KV blocks brought back from host memory.", count(stats.swapped_in_blocks));
  single("vllm:mm_cache_queries_total", "counter",
         "Images and videos that prompts needed, beyond cached prefixes.",
         count(stats.encoder_queries));
  single("vllm:mm_cache_hits_total", "counter", "Of those, encoded before or being so.",
         count(stats.encoder_hits));
  single("deltaserve:encoded_media_total", "counter",
         "Images and videos that the vision tower encoded.", count(stats.encoded_items));
  single("deltaserve:recomputed_tokens_total", "counter",
         "Tokens computed again after a preemption.", count(stats.recomputed_tokens));
  single("deltaserve:engine_steps_total", "counter", "Forward steps of the engine.",
         count(stats.num_steps));
  single("deltaserve:engine_steps_ahead_total", "counter",
         "Of those, launched while the step before ran.", count(stats.num_steps_ahead));
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "# HELP vllm:request_success_total Finished choices by reason.\n"
                 "# TYPE vllm:request_success_total counter\n");
  const std::pair<const char*, int64_t> reasons[] = {{"stop", stats.requests_stop},
                                                     {"length", stats.requests_length},
                                                     {"abort", stats.requests_abort},
                                                     {"error", stats.requests_error}};
  for (const auto& [reason, value] : reasons) {
    fmt::format_to(to, "vllm:request_success_total{{{},finished_reason=\"{}\"}} {}\n", labels,
                   reason, value);
  }
}

void Metrics::append_requests(const std::string& labels, std::string& out) const {
  time_to_first_token_.append("vllm:time_to_first_token_seconds",
                              "From the complete request to its first token.", labels, out);
  inter_token_.append("vllm:inter_token_latency_seconds", "Between tokens of a choice.", labels,
                      out);
  time_per_output_token_.append("vllm:request_time_per_output_token_seconds",
                                "Mean time per token after the first.", labels, out);
  queue_time_.append("vllm:request_queue_time_seconds", "Until the engine first scheduled it.",
                     labels, out);
  prefill_time_.append("vllm:request_prefill_time_seconds",
                       "From first scheduled to its first token.", labels, out);
  decode_time_.append("vllm:request_decode_time_seconds", "From its first token to its last.",
                      labels, out);
  latency_.append("vllm:e2e_request_latency_seconds",
                  "From the complete request to its last token.", labels, out);
  prompt_tokens_.append("vllm:request_prompt_tokens", "Prompt tokens per request.", labels, out);
  generation_tokens_.append("vllm:request_generation_tokens", "Generated tokens per request.",
                            labels, out);
  max_tokens_.append("vllm:request_params_max_tokens", "The request's max_tokens.", labels, out);
  n_.append("vllm:request_params_n", "The request's n.", labels, out);
}

void Metrics::append_http(std::string& out) const {
  append_single("deltaserve:http_connections", "gauge", "Open client connections.", "",
                static_cast<double>(connections_.load(std::memory_order_relaxed)), out);
  append_single("deltaserve:client_disconnects_total", "counter",
                "Requests whose client went away before the answer was complete.", "",
                static_cast<double>(disconnects_.load(std::memory_order_relaxed)), out);
  auto to = std::back_inserter(out);
  fmt::format_to(to,
                 "# HELP deltaserve:http_responses_total Responses by route and status.\n"
                 "# TYPE deltaserve:http_responses_total counter\n");
  const std::lock_guard lock(mutex_);
  for (const auto& [key, value] : responses_) {
    fmt::format_to(to, "deltaserve:http_responses_total{{route=\"{}\",status=\"{}\"}} {}\n",
                   escape_label(key.first), key.second, value);
  }
}

}  // namespace deltaserve
