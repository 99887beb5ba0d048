// The configuration of a checkpoint, which its config.json gives almost alone.
#pragma once

#include "base/error.h"
#include "model/config.h"
#include "tensor/checkpoint.h"

namespace deltaserve {

// parse_model_config of the checkpoint's config.json. A flat text form of Qwen3.5 may have its
// tensors named as in the vision-language wrapper that it was taken from; transformers loads both
// (its conversion mapping of qwen3_5_text), and so does this.
Result<ModelConfig> read_model_config(const Checkpoint& checkpoint);

}  // namespace deltaserve
