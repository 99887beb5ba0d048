// The `verify` command.
#include "app/verify_command.h"

#include <fmt/format.h>

#include <memory>

#include "app/flag_values.h"
#include "app/loaded_model.h"
#include "json/json.h"
#include "model/golden_cases.h"
#include "model/verify.h"
#include "tensor/safetensors.h"

namespace deltaserve {

namespace {

// float32 has to reproduce the record. bfloat16 keeps 8 bits of every activation: its bound is
// there to catch a wrong kernel, and a greedy id may flip where the record itself is nearly a tie.
constexpr double kFloatTolerance = 1e-3;
constexpr double kVisionTolerance = 1e-4;
constexpr double kBFloat16Tolerance = 4.0;
constexpr double kBFloat16IdGap = 0.05;
// The tower's features are rounded as well: recorded picture cases flip at gaps of 0.051 and 0.057.
constexpr double kBFloat16VisionIdGap = 0.06;

void print_report(const VerifyReport& report) {
  fmt::print("{:<20} {:>7} {:>12} {:>12} {:>12} {:>12} {:>12} {:>9}  {}\n", "case", "tokens",
             "vision max", "logits max", "logits rms", "hidden max", "hidden rms", "ids", "result");
  for (const CaseReport& result : report.cases) {
    if (result.needs_vision) {
      fmt::print("{:<20} needs the vision tower: not run\n", result.name);
      continue;
    }
    const bool has_hidden = result.hidden.count > 0;
    fmt::print("{:<20} {:>7} {:>12} {:>12.3g} {:>12.3g} {:>12} {:>12} {:>9}  {}\n", result.name,
               result.num_tokens,
               result.vision.count > 0 ? fmt::format("{:.3g}", result.vision.max_abs) : "-",
               result.logits.max_abs, result.logits.rms(),
               has_hidden ? fmt::format("{:.3g}", result.hidden.max_abs) : "-",
               has_hidden ? fmt::format("{:.3g}", result.hidden.rms()) : "-",
               fmt::format("{}/{}", result.num_ids_equal, result.num_ids),
               result.passed ? "ok" : "FAILED");
  }
  fmt::print("{} passed, {} failed, {} not run\n", report.num_passed, report.num_failed,
             report.num_not_run);
}

Result<VerifyReport> verify(const VerifyCommandOptions& options) {
  const auto file = SafetensorsFile::open(options.cases);
  if (!file) return std::unexpected(file.error());
  const auto loaded = load_weights(options.model);
  if (!loaded) return std::unexpected(loaded.error());
  const auto cases = read_golden_cases(**file, loaded->model->config());
  if (!cases) return std::unexpected(cases.error());
  const bool is_float = loaded->backend->compute_dtype() == DType::kF32;
  const VerifyOptions verify_options = {
      .tolerance = options.tolerance.value_or(is_float ? kFloatTolerance : kBFloat16Tolerance),
      .vision_tolerance = is_float ? kVisionTolerance : kBFloat16Tolerance,
      .id_gap = is_float ? 0.0 : kBFloat16IdGap,
      .vision_id_gap = is_float ? 0.0 : kBFloat16VisionIdGap,
      .only = options.only,
      .chunk = options.chunk,
      .packed = options.packed};
  return verify_model(*loaded->model, *cases, verify_options);
}

}  // namespace

void add_verify_options(CLI::App& command, VerifyCommandOptions& options) {
  command.add_option("cases", options.cases, "Recorded cases, one safetensors file")
      ->required()
      ->type_name("CASES");
  command
      .add_option("--tolerance", options.tolerance,
                  "Largest absolute error of logits and hidden states (default: 1e-3 in float32, "
                  "4 in bfloat16)")
      ->check(number_in(0.0, 1e30));
  command.add_option("--only", options.only, "Run only cases whose name matches this glob");
  command.add_option("--chunk", options.chunk, "Prefill this many tokens a step, 0 for all")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command.add_flag("--packed", options.packed, "Run all cases in one batch");
  command.add_flag("--json", options.json, "Print JSON");
}

int run_verify(const VerifyCommandOptions& options) {
  const Result<VerifyReport> report = verify(options);
  if (!report) return report_failure(report.error());
  if (options.json) {
    fmt::print("{}\n", json::dumps(verify_report_json(*report), 2));
  } else {
    print_report(*report);
  }
  return report->passed() ? 0 : 1;
}

}  // namespace deltaserve
