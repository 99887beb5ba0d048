// Any bytes as the body of every endpoint: no crash, and what is accepted has a prompt that fits
// the context. Uses the bundled model's tokenizer and template.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "api/api_service.h"

namespace {

using namespace deltaserve;

struct Target {
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ChatTemplate> chat_template;
  ApiService service{"0"};

  Target() {
    const auto directory =
        std::filesystem::path(__FILE__).parent_path().parent_path() / "models" / "tiny";
    auto loaded_tokenizer = Tokenizer::load(directory);
    auto loaded_template = ChatTemplate::load(directory);
    if (!loaded_tokenizer || !loaded_template) {
      std::abort();
    }
    tokenizer = *std::move(loaded_tokenizer);
    chat_template = *std::move(loaded_template);
    auto context = std::make_shared<ServingContext>();
    context->tokenizer = tokenizer.get();
    context->chat_template = chat_template.get();
    context->model_ids = {"tiny"};
    context->grammars = std::make_shared<GrammarStore>(*tokenizer, context->eos_token_ids);
    context->max_model_len = 4096;
    service.set_ready(std::move(context));
  }
};

void check(const Result<ApiService::Prepared>& prepared) {
  if (!prepared) {
    if (prepared.error().message.empty()) {
      std::abort();
    }
    return;
  }
  for (const Request& request : prepared->job.requests) {
    const auto prompt = static_cast<int64_t>(request.prompt_token_ids.size());
    if (prompt < 1 || request.sampling.max_tokens < 1 ||
        prompt + request.sampling.max_tokens > 4096 || request.sampling.n < 1) {
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target target;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(target.service.chat(body));
  check(target.service.completion(body));
  (void)target.service.tokenize(body);
  (void)target.service.detokenize(body);
  return 0;
}
