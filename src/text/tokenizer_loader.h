// Reads tokenizer.json and tokenizer_config.json into the parts of a Tokenizer. Everything in the
// file that would change ids must be understood: what is not is refused with its key.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/bpe.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace deltaserve {

struct TokenizerParts {
  Bpe bpe;
  PreTokenizer pre_tokenizer;
  std::vector<AddedToken> added_tokens;  // by id; a token of the vocabulary keeps its id
};

// `config_text` may be empty. Errors: kInvalidArgument, `param` is the key.
Result<TokenizerParts> load_tokenizer(std::string_view tokenizer_text,
                                      std::string_view config_text);

}  // namespace deltaserve
