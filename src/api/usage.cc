// Writes the usage object.
#include "api/usage.h"

#include <fmt/format.h>

#include <iterator>

namespace deltaserve {

void append_usage_json(const Usage& usage, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{},"
                 "\"prompt_tokens_details\":{{\"cached_tokens\":{}}},"
                 "\"completion_tokens_details\":{{\"reasoning_tokens\":{}}}}}",
                 usage.prompt_tokens, usage.completion_tokens,
                 usage.prompt_tokens + usage.completion_tokens, usage.cached_tokens,
                 usage.reasoning_tokens);
}

}  // namespace deltaserve
