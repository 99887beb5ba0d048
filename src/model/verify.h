// Compares a model with recorded cases: runs every prompt and its greedy continuation (feeding the
// recorded ids, so that errors do not accumulate) and measures how far logits and hidden states
// are.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "json/json.h"
#include "model/golden_cases.h"
#include "model/model.h"

namespace deltaserve {

struct VerifyOptions {
  double tolerance = 1e-3;         // on the largest absolute error of logits and of hidden states
  double vision_tolerance = 1e-4;  // on that of the vision tower's embeddings
  double id_gap = 0.0;             // ids must agree where the record's best two are further apart
  double vision_id_gap = 0.0;      // the same in cases with pictures
  std::string only = {};           // glob over case names; empty: all
  int32_t chunk = 0;               // prefill in steps of this many tokens; 0: in one
  bool packed = false;  // all cases together in each step, instead of one after the other
};

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

// Calls model.allocate: the model must be fresh. Errors: `only` matches nothing or only cases that
// need a vision tower the model lacks; a prompt that does not match its pictures; the caches do not
// fit in memory.
Result<VerifyReport> verify_model(Model& model, const std::vector<GoldenCase>& cases,
                                  const VerifyOptions& options);

json::Value verify_report_json(const VerifyReport& report);

}  // namespace deltaserve
