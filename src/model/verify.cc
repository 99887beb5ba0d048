#include "model/verify.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <utility>

#include "model/verifier.h"

namespace deltaserve {

Result<VerifyReport> verify_model(Model& model, const std::vector<GoldenCase>& cases,
                                  const VerifyOptions& options) {
  VerifyReport report;
  std::vector<const GoldenCase*> selected;
  for (const GoldenCase& golden : cases) {
    if (!options.only.empty() && ::fnmatch(options.only.c_str(), golden.name.c_str(), 0) != 0) {
      continue;
    }
    if (golden.needs_vision() && model.vision() == nullptr) {
      CaseReport skipped;
      skipped.name = golden.name;
      skipped.needs_vision = true;
      report.cases.push_back(std::move(skipped));
      ++report.num_not_run;
    } else {
      selected.push_back(&golden);
    }
  }
  if (selected.empty()) {
    return invalid(report.num_not_run > 0
                       ? "every selected case needs a vision tower, which this model lacks"
                       : fmt::format("no case is named like \"{}\"", options.only));
  }
  Verifier verifier(model, options);
  if (Result<void> prepared = verifier.prepare(selected); !prepared) {
    return std::unexpected(std::move(prepared.error()));
  }
  verifier.run_all();
  for (VerifyRun& run : verifier.runs()) {
    CaseReport& result = run.report;
    result.passed = result.logits.max_abs <= options.tolerance &&
                    result.hidden.max_abs <= options.tolerance &&
                    result.vision.max_abs <= options.vision_tolerance &&
                    result.num_positions_wrong == 0 && result.num_ids_wrong == 0;
    ++(result.passed ? report.num_passed : report.num_failed);
    report.cases.push_back(std::move(result));
  }
  return report;
}

}  // namespace deltaserve
