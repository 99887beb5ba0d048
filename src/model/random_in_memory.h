// A checkpoint of random weights that is no larger than its largest tensors: every tensor of one
// distribution is a window into one pool of numbers, so that the speed of a model of 50 GB can be
// measured without writing or holding 50 GB.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "json/json.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

// Tensors and distributions are those of random_tensors(). `threads` 0: the machine's. Errors: a
// config that is not supported, no memory.
Result<std::unique_ptr<Checkpoint>> make_random_checkpoint(const json::Object& config,
                                                           uint64_t seed, int32_t threads);

}  // namespace deltaserve
