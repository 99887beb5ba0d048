// What every endpoint needs to know about the model being served: set once when loading has
// finished, then shared by all threads and never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/chat_settings.h"
#include "api/grammar_store.h"
#include "api/prompt_media.h"
#include "chat/chat_template.h"
#include "engine/engine.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace deltaserve {

struct ServingLimits {
  int32_t max_n = 128;          // choices of one request, OpenAI's own limit
  int32_t max_logprobs = 20;    // alternatives of one token, OpenAI's own limit
  int32_t max_prompts = 1024;   // of /v1/completions, each counted n times: what a queue holds
  size_t max_stop_strings = 4;  // OpenAI's own limit
};

struct ServingContext {
  const Tokenizer* tokenizer = nullptr;         // outlives the context, as do the next two
  const ChatTemplate* chat_template = nullptr;  // null: the checkpoint has none
  Engine* engine = nullptr;
  std::vector<std::string> model_ids;  // at least one; the first is the default
  int64_t max_model_len = 0;           // prompt and answer together, in tokens
  GenerationConfig generation_config;  // sampling defaults, overridden by request fields
  std::vector<int32_t> eos_token_ids;
  int64_t created = 0;  // unix seconds, of /v1/models
  ServingLimits limits;
  ChatSettings chat;
  std::shared_ptr<GrammarStore> grammars;   // over the tokenizer's vocabulary
  std::shared_ptr<const MediaInput> media;  // null: the model takes text only
  // Lets special-token text written in message contents become control tokens.
  bool allow_special_tokens_in_content = false;
};

}  // namespace deltaserve
