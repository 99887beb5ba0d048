// The tokenizer's vocabulary as grammars see it: ordinary tokens by their bytes, control tokens by
// the bytes of output_control.h, and no other added token.
#pragma once

#include <memory>
#include <vector>

#include "grammar/grammar_vocabulary.h"
#include "text/tokenizer.h"

namespace deltaserve {

// `end_ids`: the tokens that end an answer. `tokenizer` must outlive what is made.
std::shared_ptr<const GrammarVocabulary> make_grammar_vocabulary(
    const Tokenizer& tokenizer, const std::vector<int32_t>& end_ids);

}  // namespace deltaserve
