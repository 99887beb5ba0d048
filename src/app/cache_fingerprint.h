// What must be the same for cached states to mean the same: the weights, the dtype of computation,
// the kernels, and this program's version.
#pragma once

#include <string>
#include <string_view>

#include "ops/backend.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

// Of the weights it holds names, shapes and a few bytes of every tensor: enough to tell one
// training run from another without reading all of them. `quantization` is what loading makes of
// them: int8, int4, or empty.
std::string cache_fingerprint(const Checkpoint& checkpoint, const Backend& backend,
                              std::string_view quantization);

}  // namespace deltaserve
