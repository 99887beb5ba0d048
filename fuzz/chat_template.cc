// A template and a JSON object of variables, with a NUL byte between them: compiling and rendering
// neither crash nor run away, and the spans cover the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chat/chat_template.h"
#include "json/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using deltaserve::ChatTemplate;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t border = text.find('\0');
  const std::string_view document =
      border == std::string_view::npos ? std::string_view("{}") : text.substr(border + 1);
  const auto compiled = ChatTemplate::compile(text.substr(0, border));
  if (!compiled) {
    return 0;
  }
  deltaserve::json::ParseLimits limits;
  limits.max_bytes = size_t{1} << 16;
  const auto variables = deltaserve::json::parse(document, limits);
  if (!variables || !variables->is_object()) {
    return 0;
  }
  const auto prompt = (*compiled)->render(variables->get_object());
  if (!prompt) {
    return 0;
  }
  size_t end = 0;
  for (const auto& span : prompt->spans) {
    if (span.begin != end || span.end <= span.begin) {
      std::abort();
    }
    end = span.end;
  }
  if (end != prompt->text.size()) {
    std::abort();
  }
  return 0;
}
