// What comparing a model with recorded cases found: errors of logits, hidden states and picture
// embeddings, and how many greedy ids agree.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "json/json.h"

namespace deltaserve {

struct ErrorStats {
  double max_abs = 0.0;  // infinite if a value is not finite
  double sum_of_squares = 0.0;
  int64_t count = 0;

  void add(float value, float reference) {
    const double error = std::abs(static_cast<double>(value) - reference);
    max_abs =
        std::isfinite(error) ? std::max(max_abs, error) : std::numeric_limits<double>::infinity();
    sum_of_squares += error * error;
    ++count;
  }
  double rms() const {
    return count == 0 ? 0.0 : std::sqrt(sum_of_squares / static_cast<double>(count));
  }
};

struct CaseReport {
  std::string name;
  bool needs_vision = false;  // and is not run, for the model has no vision tower
  int64_t num_tokens = 0;
  ErrorStats logits;  // prompt and greedy steps
  ErrorStats hidden;
  ErrorStats vision;                // embeddings of pictures
  int32_t num_positions_wrong = 0;  // M-RoPE positions of the prompt
  int32_t num_ids = 0;
  int32_t num_ids_equal = 0;
  int32_t num_ids_wrong = 0;  // differ although the gap is wide
  bool passed = false;
};

struct VerifyReport {
  std::vector<CaseReport> cases;
  int32_t num_passed = 0;
  int32_t num_failed = 0;
  int32_t num_not_run = 0;
  bool passed() const { return num_failed == 0 && num_passed > 0; }
};

json::Value verify_report_json(const VerifyReport& report);

}  // namespace deltaserve
