// A tokenizer for checkpoints of random weights: byte-level BPE of the released size whose merges
// are generated, with the family's added tokens at their released ids, and a small chat template.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "model/config.h"

namespace deltaserve {

// Writes tokenizer.json, tokenizer_config.json, chat_template.jinja and generation_config.json.
Result<void> write_synthetic_tokenizer(const ModelConfig& config,
                                       const std::filesystem::path& directory);

}  // namespace deltaserve
