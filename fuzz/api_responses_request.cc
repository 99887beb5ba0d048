// Any bytes as the body of /v1/responses: no crash, what is accepted has a prompt that fits the
// context, and an answer that repeats it is JSON. Uses the bundled model's tokenizer and template.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/response_format.h"
#include "api/responses_request.h"
#include "driver/tiny_context.h"

namespace {

using namespace deltaserve;

using Target = TinyContext;

void check_request(const Request& request) {
  const auto prompt = static_cast<int64_t>(request.prompt_token_ids.size());
  if (prompt < 1 || request.sampling.max_tokens < 1 ||
      prompt + request.sampling.max_tokens > Target::kMaxModelLen || request.sampling.n != 1) {
    std::abort();
  }
}

void check_answer(const Target& target, const GenerationJob& job) {
  const auto format = job.options.make_format(*target.tokenizer, job.options);
  CollectedChoice choice;
  choice.prompt = &job.prompts.front();
  choice.sum.events.push_back({OutputEvent::Kind::kContent, 0, "text", {}, {}});
  if (!json::parse(format->body({choice}, {}))) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Target target;
  const auto body = json::parse({reinterpret_cast<const char*>(data), size});
  if (!body || !body->is_object()) {
    return 0;
  }
  const Result<GenerationJob> job = parse_responses_request(*target.context, body->get_object());
  if (!job) {
    if (job.error().message.empty()) {
      std::abort();
    }
    return 0;
  }
  check_request(job->requests.front());
  check_answer(target, *job);
  return 0;
}
