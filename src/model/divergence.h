// How far a model's next-token distributions are from another's over a text: what quantisation
// costs.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "model/model.h"

namespace deltaserve {

struct Divergence {
  int64_t positions = 0;  // predicted
  double kl = 0.0;        // mean KL(base || other), nats
  double kl_p99 = 0.0;    // 99 % of the positions are at or below it
  double kl_max = 0.0;
  double top1_agreement = 0.0;  // share of positions with the same most likely token
  double base_nll = 0.0;        // mean negative log likelihood of the text's own next token
  double other_nll = 0.0;
};

// Cuts `tokens` into windows of `window`, each from an empty context, and compares the predictions
// at all their positions. Both models must be fresh: calls allocate. Errors: fewer than two tokens,
// vocabularies that differ, a token outside them, a logit that is not finite, no memory.
Result<Divergence> compare_models(Model& base, Model& other, std::span<const int32_t> tokens,
                                  int32_t window);

}  // namespace deltaserve
