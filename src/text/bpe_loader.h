// The "model" object of tokenizer.json: vocabulary and merge rules.
#pragma once

#include "base/error.h"
#include "json/json.h"
#include "text/bpe.h"

namespace deltaserve {

// Errors: kInvalidArgument, `param` is the key below "model".
Result<Bpe> load_bpe(const json::Object& model);

}  // namespace deltaserve
