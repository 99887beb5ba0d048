// Any bytes as the body of every endpoint: no crash, and what is accepted has a prompt that fits
// the context. Uses the bundled model's tokenizer and template.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "driver/tiny_context.h"

namespace {

using namespace deltaserve;

using Target = TinyContext;

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
        prompt + request.sampling.max_tokens > Target::kMaxModelLen || request.sampling.n < 1) {
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
