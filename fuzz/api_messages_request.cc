// Any bytes as the body of /v1/messages and its count_tokens: no crash, what is accepted has a
// prompt that fits the context and as many tokens as were counted, and every refusal says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "driver/tiny_context.h"

namespace {

using namespace deltaserve;

using Target = TinyContext;

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
  require(prompt + request.sampling.max_tokens <= Target::kMaxModelLen);
  require(count && counted(*count) == prompt);
  return 0;
}
