// Histogram: relaxed counters, read while others write; a scrape may be one observation behind.
#include "server/histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace deltaserve {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)),
      counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {}

void Histogram::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  counts_[static_cast<size_t>(bound - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::append(std::string_view name, std::string_view help, std::string_view labels,
                       std::string& out) const {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  uint64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? fmt::format("{}", bounds_[i]) : "+Inf";
    fmt::format_to(to, "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bound, total);
  }
  fmt::format_to(to, "{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels,
                 sum_.load(std::memory_order_relaxed), name, labels, total);
}

}  // namespace deltaserve
