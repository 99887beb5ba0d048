// The `quality` command: the base model and one other are in memory at a time.
#include "app/quality_command.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "app/loaded_model.h"
#include "base/read_file.h"
#include "json/json.h"
#include "model/divergence.h"

namespace deltaserve {

namespace {

struct QualityRow {
  std::string name;
  int64_t weight_bytes = 0;
  Divergence divergence;
};

struct QualityReport {
  int64_t base_bytes = 0;
  std::vector<QualityRow> rows;
};

// Far beyond what a model reads in a day.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

// int8 and int4 are MODEL quantised at load; anything else is a checkpoint directory.
ModelOptions other_options(const ModelOptions& model, const std::string& name) {
  ModelOptions other = model;
  if (name == "int8" || name == "int4") {
    other.quantization = name;
  } else {
    other.directory = name;
  }
  return other;
}

Result<QualityReport> measure(const QualityOptions& options) {
  const auto text = read_file(options.text, kMaxTextBytes);
  if (!text) return std::unexpected(text.error());
  QualityReport report;
  for (const std::string& name : options.against) {
    const auto base = load_model_directory(options.model);
    if (!base) return std::unexpected(base.error());
    const auto other = load_weights(other_options(options.model, name));
    if (!other) return std::unexpected(other.error());
    const std::vector<int32_t> tokens = base->tokenizer->encode(*text);
    const auto divergence = compare_models(*base->model, *other->model, tokens, options.window);
    if (!divergence) return std::unexpected(divergence.error());
    report.base_bytes = base->model->memory().weight_bytes;
    report.rows.push_back({name, other->model->memory().weight_bytes, *divergence});
  }
  return report;
}

void print_report(const QualityReport& report) {
  const Divergence& first = report.rows[0].divergence;
  fmt::print("{} positions; base model: {} of weights, perplexity {:.4f}\n", first.positions,
             format_bytes(report.base_bytes), std::exp(first.base_nll));
  fmt::print("{:<16} {:>10} {:>12} {:>12} {:>12} {:>9} {:>12}\n", "compared", "weights", "mean KL",
             "p99 KL", "max KL", "same top", "perplexity");
  for (const QualityRow& row : report.rows) {
    const Divergence& d = row.divergence;
    fmt::print("{:<16} {:>10} {:>12.3g} {:>12.3g} {:>12.3g} {:>8.2f}% {:>12.4f}\n", row.name,
               format_bytes(row.weight_bytes), d.kl, d.kl_p99, d.kl_max, 100.0 * d.top1_agreement,
               std::exp(d.other_nll));
  }
}

void print_json(const QualityReport& report) {
  json::Array rows;
  for (const QualityRow& row : report.rows) {
    const Divergence& d = row.divergence;
    rows.push_back({{"compared", row.name},
                    {"weight_bytes", row.weight_bytes},
                    {"positions", d.positions},
                    {"mean_kl", d.kl},
                    {"p99_kl", d.kl_p99},
                    {"max_kl", d.kl_max},
                    {"top1_agreement", d.top1_agreement},
                    {"base_nll", d.base_nll},
                    {"nll", d.other_nll}});
  }
  const json::Value document = {{"base_weight_bytes", report.base_bytes},
                                {"rows", std::move(rows)}};
  fmt::print("{}\n", json::dumps(document, 2));
}

}  // namespace

void add_quality_options(CLI::App& command, QualityOptions& options) {
  command.add_option("--text", options.text, "File with the text to predict")
      ->required()
      ->check(CLI::ExistingFile);
  command
      .add_option("--against", options.against,
                  "int8 or int4: MODEL quantised; or the directory of another checkpoint of it")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--window", options.window, "Tokens of a window, each from an empty context")
      ->check(CLI::Range(2, 1 << 16))
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print JSON");
}

int run_quality(const QualityOptions& options) {
  const auto report = measure(options);
  if (!report) return report_failure(report.error());
  if (options.json) {
    print_json(*report);
  } else {
    print_report(*report);
  }
  return 0;
}

}  // namespace deltaserve
