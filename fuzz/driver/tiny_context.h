// The bundled model's tokenizer and template behind an API without an engine: what the fuzz targets
// of request bodies stand on.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "api/api_service.h"

namespace deltaserve {

struct TinyContext {
  static constexpr int64_t kMaxModelLen = 4096;

  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  std::shared_ptr<ServingContext> context = std::make_shared<ServingContext>();
  ApiService service{"0"};

  TinyContext() {
    const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
    auto loaded_tokenizer = Tokenizer::load(root / "models" / "tiny");
    auto loaded_template = ChatTemplate::load(root / "models" / "tiny");
    if (!loaded_tokenizer || !loaded_template) {
      std::abort();
    }
    tokenizer = *std::move(loaded_tokenizer);
    chat_template = *std::move(loaded_template);
    context->tokenizer = tokenizer.get();
    context->chat_template = chat_template.get();
    context->model_ids = {"tiny"};
    context->grammars = std::make_shared<GrammarStore>(*tokenizer, context->eos_token_ids);
    context->max_model_len = kMaxModelLen;
    service.set_ready(context);
  }
};

}  // namespace deltaserve
