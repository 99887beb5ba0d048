// What /metrics shows: vLLM's names where vLLM has the figure, so that dashboards keep working, and
// deltaserve's own for HTTP. Any thread may record.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "api/serving_context.h"
#include "server/histogram.h"

namespace deltaserve {

// One finished generation, times in seconds.
struct GenerationRecord {
  double time_to_first_token = 0.0;  // from the complete request to the first engine output
  double latency = 0.0;              // to the last
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;
  int64_t generation_tokens = 0;
  int64_t max_tokens = 0;
  int32_t n = 1;
};

class Metrics {
 public:
  Metrics();

  void record_response(const std::string& route, int status);
  void record_generation(const GenerationRecord& record);
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
  Histogram time_per_output_token_;
  Histogram latency_;
  Histogram prompt_tokens_;
  Histogram generation_tokens_;
  Histogram max_tokens_;
  Histogram n_;
  std::atomic<int64_t> prefix_queries_ = 0;  // prompt tokens looked up
  std::atomic<int64_t> prefix_hits_ = 0;     // and found
  std::atomic<int64_t> connections_ = 0;
  std::atomic<int64_t> disconnects_ = 0;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> responses_;  // by route and status
};

}  // namespace deltaserve
