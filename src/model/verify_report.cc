#include "model/verify_report.h"

#include <utility>

namespace deltaserve {

namespace {

json::Value stats_json(const ErrorStats& stats) {
  return {{"max_abs", stats.max_abs}, {"rms", stats.rms()}, {"count", stats.count}};
}

}  // namespace

json::Value verify_report_json(const VerifyReport& report) {
  json::Array cases;
  for (const CaseReport& result : report.cases) {
    if (result.needs_vision) {
      cases.push_back({{"name", result.name}, {"status", "needs the vision tower: not run"}});
      continue;
    }
    cases.push_back({{"name", result.name},
                     {"status", result.passed ? "passed" : "failed"},
                     {"num_tokens", result.num_tokens},
                     {"logits", stats_json(result.logits)},
                     {"hidden", stats_json(result.hidden)},
                     {"vision", stats_json(result.vision)},
                     {"positions_wrong", result.num_positions_wrong},
                     {"ids", result.num_ids},
                     {"ids_equal", result.num_ids_equal},
                     {"ids_wrong", result.num_ids_wrong}});
  }
  return {{"passed", report.passed()},
          {"num_passed", report.num_passed},
          {"num_failed", report.num_failed},
          {"num_not_run", report.num_not_run},
          {"cases", std::move(cases)}};
}

}  // namespace deltaserve
