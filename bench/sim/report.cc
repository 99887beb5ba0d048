// Sums, percentiles and a table of hits by kind of request.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace deltaserve {
namespace {

// Prices of a million output, computed input and cached input tokens, as the score weighs them.
constexpr double kOutputWeight = 16.796;
constexpr double kInputWeight = 2.799;
constexpr double kCachedWeight = 0.56;
constexpr int64_t kGranularities[] = {1, 16, 64};
constexpr int64_t kMostRerun = 64;

// Nearest rank; of nothing it is 0.
template <typename T>
double percentile(std::vector<T> values, double share) {
  if (values.empty()) return 0.0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto rank =
      static_cast<std::ptrdiff_t>(std::min(last, share * static_cast<double>(values.size())));
  std::ranges::nth_element(values, values.begin() + rank);
  return static_cast<double>(values[static_cast<size_t>(rank)]);
}

template <typename T>
std::string spread(const std::vector<T>& values, double factor) {
  return fmt::format("p50 {:.1f}, p90 {:.1f}, p99 {:.1f}, max {:.1f}",
                     percentile(values, 0.5) * factor, percentile(values, 0.9) * factor,
                     percentile(values, 0.99) * factor, percentile(values, 1.0) * factor);
}

int64_t reusable(const RequestFigures& figures, int64_t prompt_len, int64_t granularity) {
  return std::min(figures.num_shared, prompt_len - 1) / granularity * granularity;
}

struct Hits {
  int64_t requests = 0;
  int64_t prompt = 0;
  int64_t cached = 0;
  int64_t best[std::size(kGranularities)] = {};
  std::vector<int64_t> rerun;  // of requests that could begin behind a chunk

  void add(const RequestFigures& figures, int64_t prompt_len) {
    ++requests;
    prompt += prompt_len;
    cached += figures.num_cached;
    for (size_t g = 0; g < std::size(kGranularities); ++g) {
      best[g] += reusable(figures, prompt_len, kGranularities[g]);
    }
    if (figures.num_shared < kMostRerun) return;
    rerun.push_back(reusable(figures, prompt_len, 1) - figures.num_cached);
  }

  std::string line(const std::string& name) const {
    std::string text =
        fmt::format("{:<9} {:>8} {:>12} {:>12} {:>12} ", name, requests, prompt, best[0], cached);
    for (const int64_t b : best) {
      if (b > 0) {
        fmt::format_to(std::back_inserter(text), " {:>7.2f}%",
                       100.0 * static_cast<double>(cached) / static_cast<double>(b));
      } else {
        text += "        -";
      }
    }
    const auto few = std::ranges::count_if(rerun, [](int64_t r) { return r < kMostRerun; });
    const double share =
        rerun.empty() ? 1.0 : static_cast<double>(few) / static_cast<double>(rerun.size());
    fmt::format_to(std::back_inserter(text), "  {:.0f} / {:.0f} / {:.0f}, {:.1f}%",
                   percentile(rerun, 0.5), percentile(rerun, 0.9), percentile(rerun, 0.99),
                   100.0 * share);
    return text;
  }
};

// Times in which some long prefill was under way.
std::vector<std::pair<double, double>> long_prefills(const Trace& trace,
                                                     const std::vector<RequestFigures>& figures) {
  std::vector<std::pair<double, double>> times;
  for (size_t i = 0; i < figures.size(); ++i) {
    const int64_t computed = trace.requests[i].num_prompt_tokens - figures[i].num_cached;
    if (figures[i].refused || computed < kLongPrefill) continue;
    times.emplace_back(figures[i].sent, figures[i].first_token);
  }
  return times;
}

std::vector<float> gaps_within(const std::vector<RequestFigures>& all,
                               const std::vector<std::pair<double, double>>& times) {
  std::vector<float> gaps;
  for (const RequestFigures& figures : all) {
    double now = figures.first_token;
    for (const float gap : figures.gaps) {
      now += gap;
      const bool within = std::ranges::any_of(
          times, [&](const auto& time) { return now > time.first && now <= time.second; });
      if (within) gaps.push_back(gap);
    }
  }
  return gaps;
}

struct Sums {
  std::vector<double> first_token;
  std::vector<double> turn;
  std::vector<float> gaps;
  int64_t refused = 0;
  int64_t failed = 0;
  double output = 0.0;
  double input = 0.0;
  double cached = 0.0;
  Hits all;
  std::map<std::string, Hits> by_kind;
};

Sums sum_up(const Trace& trace, const std::vector<RequestFigures>& figures) {
  Sums sums;
  for (size_t i = 0; i < figures.size(); ++i) {
    const RequestFigures& f = figures[i];
    const TraceRequest& request = trace.requests[i];
    if (f.refused || f.failed) {
      ++(f.refused ? sums.refused : sums.failed);
      continue;
    }
    sums.first_token.push_back(f.first_token - f.sent);
    sums.turn.push_back(f.ended - f.sent);
    sums.gaps.insert(sums.gaps.end(), f.gaps.begin(), f.gaps.end());
    sums.output += static_cast<double>(request.num_output_tokens);
    sums.input += static_cast<double>(request.num_prompt_tokens - f.num_cached);
    sums.cached += static_cast<double>(f.num_cached);
    sums.all.add(f, request.num_prompt_tokens);
    sums.by_kind[request.kind].add(f, request.num_prompt_tokens);
  }
  return sums;
}

}  // namespace

std::string report(const Trace& trace, const Replayer& replayer, const EngineStats& stats) {
  const Sums sums = sum_up(trace, replayer.figures());
  const double seconds = replayer.seconds();
  std::string text;
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  };
  line("{} requests in {:.1f} s ({:.1f} % of them busy), {} steps; refused {}, failed {}",
       trace.requests.size(), seconds, 100.0 * replayer.busy_seconds() / seconds,
       replayer.num_steps(), sums.refused, sums.failed);
  line("at most {} running and {} waiting; preemptions {}, recomputed tokens {}",
       replayer.max_running(), replayer.max_waiting(), stats.num_preemptions,
       stats.recomputed_tokens);
  line("cache: {} snapshots and {} blocks at the end; evicted {} snapshots, {} blocks",
       stats.num_snapshots, stats.cached_blocks, stats.evicted_snapshots, stats.evicted_blocks);
  line("tokens/s: output {:.1f}, input {:.1f}, cached {:.1f}; score {:.0f}", sums.output / seconds,
       sums.input / seconds, sums.cached / seconds,
       (kOutputWeight * sums.output + kInputWeight * sums.input + kCachedWeight * sums.cached) /
           seconds);
  line("first token: {} ms", spread(sums.first_token, 1e3));
  line("between tokens: {} ms", spread(sums.gaps, 1e3));
  const auto prefills = long_prefills(trace, replayer.figures());
  if (!prefills.empty()) {
    const std::vector<float> gaps = gaps_within(replayer.figures(), prefills);
    line("between tokens during {} prefills of {} tokens and more: {} ms", prefills.size(),
         kLongPrefill, spread(gaps, 1e3));
  }
  line("whole turn: {} ms", spread(sums.turn, 1e3));
  line("{:<9} {:>8} {:>12} {:>12} {:>12}  of reusable at 1 / 16 / 64  re-run p50 / p90 / p99, < 64",
       "", "requests", "prompt", "reusable", "cached");
  text += sums.all.line("all") + '\n';
  for (const auto& [kind, hits] : sums.by_kind) text += hits.line(kind) + '\n';
  return text;
}

}  // namespace deltaserve
