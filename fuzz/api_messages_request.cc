// Any bytes as the body of /v1/messages and its count_tokens: no crash, what is accepted has a
// prompt that fits the context and as many tokens as were counted, and every refusal says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "api/api_service.h"

namespace {

using namespace deltaserve;

constexpr int64_t kMaxModelLen = 4096;

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
    context->max_model_len = kMaxModelLen;
    service.set_ready(std::move(context));
  }
};

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

int64_t counted(const std::string& body) {
  return json::parse(body)->at("input_tokens").as_int64();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target target;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto prepared = target.service.messages(body);
  const Result<std::string> count = target.service.count_message_tokens(body);
  require(count || !count.error().message.empty());
  if (!prepared) {
    require(!prepared.error().message.empty());
    return 0;
  }
  require(prepared->job.requests.size() == 1);
  const Request& request = prepared->job.requests.front();
  const auto prompt = static_cast<int64_t>(request.prompt_token_ids.size());
  require(prompt >= 1 && request.sampling.max_tokens >= 1 && request.sampling.n == 1);
  require(prompt + request.sampling.max_tokens <= kMaxModelLen);
  require(count && counted(*count) == prompt);
  return 0;
}
