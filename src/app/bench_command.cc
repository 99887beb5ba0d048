// The `bench` command: times forwards of the model itself, without scheduler or server.
#include "app/bench_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "app/bench_batch.h"
#include "app/cost_model.h"
#include "app/loaded_model.h"
#include "json/json.h"

namespace deltaserve {

namespace {

struct BenchRow {
  std::string test;
  int64_t num_seqs = 0;
  double tokens_per_s = 0.0;
  double gb_per_s = 0.0;
  double gflop_per_s = 0.0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A device works on after forward() has returned: what comes back to the host is there only when
// all is done.
void forward(Model& model, const Batch& batch) {
  model.forward(batch);
  float first = 0.0F;
  model.backend().copy_to_host(&first, model.logits(), sizeof(first));
}

BenchRow make_row(std::string test, int64_t num_seqs, double tokens, double seconds,
                  const StepCost& cost) {
  return {std::move(test), num_seqs, tokens / seconds, cost.bytes / seconds * 1e-9,
          cost.flops / seconds * 1e-9};
}

// What a weight takes where the model is quantised, at load or before.
WeightBytes bytes_of_weights(const Model& model, const BenchOptions& options) {
  const std::string& name = options.model.quantization;
  return weight_bytes(name.empty() ? model.config().quantization
                                   : std::optional(parse_quantization(name).value()));
}

// The fastest of the repetitions: what the machine does when nothing else disturbs it.
BenchRow bench_prefill(Model& model, const BenchOptions& options, int64_t length,
                       int64_t max_model_len) {
  const Batch batch = make_bench_batch({.num_seqs = 1,
                                        .tokens_per_seq = length,
                                        .context_len = 0,
                                        .max_model_len = max_model_len,
                                        .vocab_size = model.config().vocab_size});
  double best = 0.0;
  for (int32_t run = 0; run <= options.repetitions; ++run) {
    const auto start = std::chrono::steady_clock::now();
    forward(model, batch);
    const double seconds = seconds_since(start);
    if (run > 0) best = run == 1 ? seconds : std::min(best, seconds);
  }
  const StepCost cost = step_cost(
      model.config(),
      {.num_seqs = 1, .tokens_per_seq = length, .weight_bytes = bytes_of_weights(model, options)});
  return make_row(fmt::format("prefill {}", length), 1, static_cast<double>(length), best, cost);
}

BenchRow bench_decode(Model& model, const BenchOptions& options, int64_t num_seqs, int64_t context,
                      int64_t max_model_len) {
  std::vector<double> steps;
  steps.reserve(static_cast<size_t>(options.num_generate));
  for (int64_t i = 0; i < options.num_generate; ++i) {
    const Batch batch = make_bench_batch({.num_seqs = num_seqs,
                                          .tokens_per_seq = 1,
                                          .context_len = context + i,
                                          .max_model_len = max_model_len,
                                          .vocab_size = model.config().vocab_size});
    const auto start = std::chrono::steady_clock::now();
    forward(model, batch);
    steps.push_back(seconds_since(start));
  }
  std::ranges::sort(steps);
  const double median = steps[steps.size() / 2];
  const StepCost cost =
      step_cost(model.config(), {.num_seqs = num_seqs,
                                 .tokens_per_seq = 1,
                                 .context_len = context,
                                 .logits_rows = num_seqs,
                                 .weight_bytes = bytes_of_weights(model, options)});
  return make_row(fmt::format("decode at {}", context), num_seqs, static_cast<double>(num_seqs),
                  median, cost);
}

void print_rows(const std::vector<BenchRow>& rows, const MachineCeilings& ceilings,
                const BackendOptions& backend) {
  fmt::print("ceilings of this run: read {:.1f} GB/s, matrices {:.0f} GFLOP/s ({})\n",
             ceilings.read_gb_per_s, ceilings.matrix_gflop_per_s,
             dtype_name(backend.compute_dtype));
  fmt::print("{:<16} {:>6} {:>12} {:>9} {:>6} {:>10} {:>6}\n", "test", "batch", "tokens/s", "GB/s",
             "", "GFLOP/s", "");
  for (const BenchRow& row : rows) {
    fmt::print("{:<16} {:>6} {:>12.1f} {:>9.1f} {:>5.0f}% {:>10.0f} {:>5.0f}%\n", row.test,
               row.num_seqs, row.tokens_per_s, row.gb_per_s,
               100.0 * row.gb_per_s / ceilings.read_gb_per_s, row.gflop_per_s,
               100.0 * row.gflop_per_s / ceilings.matrix_gflop_per_s);
  }
}

void print_json(const std::vector<BenchRow>& rows, const MachineCeilings& ceilings,
                double load_seconds) {
  json::Array tests;
  for (const BenchRow& row : rows) {
    tests.push_back({{"test", row.test},
                     {"batch", row.num_seqs},
                     {"tokens_per_s", row.tokens_per_s},
                     {"gb_per_s", row.gb_per_s},
                     {"gflop_per_s", row.gflop_per_s}});
  }
  const json::Value document = {{"load_seconds", load_seconds},
                                {"read_gb_per_s", ceilings.read_gb_per_s},
                                {"matrix_gflop_per_s", ceilings.matrix_gflop_per_s},
                                {"tests", std::move(tests)}};
  fmt::print("{}\n", json::dumps(document, 2));
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const auto backend = backend_options(options.model);
  if (!backend) return report_failure(backend.error());
  const auto ceilings = measure_ceilings(*backend);
  if (!ceilings) return report_failure(ceilings.error());

  const auto load_start = std::chrono::steady_clock::now();
  auto loaded = options.random_weights
                    ? load_random_weights(options.model, {.num_layers = options.num_layers})
                    : load_weights(options.model);
  if (!loaded) return report_failure(loaded.error());
  const double load_seconds = seconds_since(load_start);
  Model& model = *loaded->model;

  const int64_t longest = std::ranges::max(options.prompt_lens);
  const int64_t most_seqs = std::ranges::max(options.batch_sizes);
  const int64_t context = options.context_len > 0 ? options.context_len : options.prompt_lens[0];
  const int64_t max_model_len = std::max(longest, context + options.num_generate);
  const StepLimits limits{.max_tokens = std::max(longest, most_seqs),
                          .max_seqs = most_seqs,
                          .max_model_len = max_model_len};
  const auto allocated =
      model.allocate(limits, most_seqs * blocks_per_sequence(max_model_len), most_seqs);
  if (!allocated) return report_failure(allocated.error());

  std::vector<BenchRow> rows;
  rows.reserve(options.prompt_lens.size() + options.batch_sizes.size());
  for (const int64_t length : options.prompt_lens) {
    rows.push_back(bench_prefill(model, options, length, max_model_len));
  }
  for (const int64_t num_seqs : options.batch_sizes) {
    rows.push_back(bench_decode(model, options, num_seqs, context, max_model_len));
  }
  if (options.json) {
    print_json(rows, *ceilings, load_seconds);
  } else {
    fmt::print("{}: {} of weights, loaded in {:.2f} s\n", options.model.directory.string(),
               format_bytes(model.memory().weight_bytes), load_seconds);
    print_rows(rows, *ceilings, *backend);
  }
  return 0;
}

}  // namespace deltaserve
