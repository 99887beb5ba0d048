// What /metrics shows: vLLM's names where vLLM has the figure, so that dashboards keep working, and
// deltaserve's own for HTTP. Any thread may record.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/serving_context.h"
#include "server/generation_record.h"
#include "server/histogram.h"

namespace deltaserve {

class Metrics {
 public:
  Metrics();

  void record_response(const std::string& route, int status);
  // Counts finished generations only: others would pull the histograms down.
  void record_generation(const GenerationRecord& record);
  void record_inter_token(double seconds) { inter_token_.observe(seconds); }
  void record_disconnect() { disconnects_.fetch_add(1, std::memory_order_relaxed); }
  void add_connections(int64_t change) {
    connections_.fetch_add(change, std::memory_order_relaxed);
  }

  // The exposition text; `context` is null while the model is being loaded.
  std::string text(const ServingContext* context) const;

 private:
  void append_engine(const ServingContext& context, const std::string& labels,
                     std::string& out) const;
  void append_requests(const std::string& labels, std::string& out) const;
  void append_http(std::string& out) const;

  Histogram time_to_first_token_;
  Histogram inter_token_;
  Histogram time_per_output_token_;
  Histogram queue_time_;
  Histogram prefill_time_;
  Histogram decode_time_;
  Histogram latency_;
  Histogram prompt_tokens_;
  Histogram generation_tokens_;
  Histogram max_tokens_;
  Histogram n_;
  std::atomic<int64_t> connections_ = 0;
  std::atomic<int64_t> disconnects_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> responses_;  // by route and status
};

}  // namespace deltaserve
