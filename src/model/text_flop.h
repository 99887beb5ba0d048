// What a token costs, so that the vision tower's work can be weighed against text.
#pragma once

#include "model/config.h"

namespace deltaserve {

// Floating-point operations of a prompt token in all layers, without those of attention over its
// context, which grow with it.
double text_flop_per_token(const ModelConfig& config);

}  // namespace deltaserve
