// Compares a model with recorded cases: runs every prompt and its greedy continuation (feeding the
// recorded ids, so that errors do not accumulate) and measures how far logits and hidden states
// are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/golden_cases.h"
#include "model/model.h"
#include "model/verify_report.h"

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

// Calls model.allocate: the model must be fresh. Errors: `only` matches nothing or only cases that
// need a vision tower the model lacks; a prompt that does not match its pictures; the caches do not
// fit in memory.
Result<VerifyReport> verify_model(Model& model, const std::vector<GoldenCase>& cases,
                                  const VerifyOptions& options);

}  // namespace deltaserve
