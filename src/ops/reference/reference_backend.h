// The oracle: every op as plain float32 loops in the order of its definition, one thread. Slow on
// purpose; conformance tests compare every backend with it, and it with the goldens.
#pragma once

#include <memory>

#include "ops/backend.h"

namespace deltaserve {

// `compute_dtype` kF32 or kBF16: with kBF16 activations are rounded where the op's contract says.
std::unique_ptr<Backend> make_reference_backend(DType compute_dtype);

}  // namespace deltaserve
