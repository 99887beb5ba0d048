// The oracle: every op as plain loops in the order of its definition, one thread. Values are
// float32 and dot products are summed in float64, so that a difference is the other backend's
// error. Slow on purpose; conformance tests compare every backend with it, and it with the goldens.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace deltaserve {

// `compute_dtype` kF32 or kBF16: with kBF16 activations are rounded where the op's contract says.
std::unique_ptr<Backend> make_reference_backend(DType compute_dtype);

}  // namespace deltaserve
