// A Prometheus histogram that any thread may add to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace deltaserve {

class Histogram {
 public:
  // Upper bounds, ascending; +Inf is added.
  explicit Histogram(std::vector<double> bounds);

  void observe(double value);

  // Buckets (cumulative), sum and count in the exposition format; `labels` without braces.
  void append(std::string_view name, std::string_view help, std::string_view labels,
              std::string& out) const;

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // one a bound, and one beyond
  std::atomic<double> sum_ = 0.0;
};

}  // namespace deltaserve
