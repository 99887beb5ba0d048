// Any bytes as tokenizer.json (and, after a zero byte, as tokenizer_config.json): an error or a
// tokenizer that encodes and decodes without harm, whatever ids and rules the file holds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using deltaserve::Tokenizer;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t border = input.find('\0');
  const std::string_view config =
      border == std::string_view::npos ? std::string_view() : input.substr(border + 1);
  const auto tokenizer = Tokenizer::from_json(input.substr(0, border), config);
  if (!tokenizer) {
    if (tokenizer.error().message.empty()) std::abort();
    return 0;
  }
  constexpr std::string_view kText = "he said: hello  you're \u4F60\u597D e\u0301 123\r\n<x>\xFF";
  for (const bool allow : {false, true}) {
    const auto ids = (*tokenizer)->encode(kText, allow);
    for (const int32_t id : ids) {
      if (id < 0 || id >= (*tokenizer)->vocab_size()) std::abort();
    }
    (*tokenizer)->decode(ids, allow);
  }
  deltaserve::Detokenizer detokenizer(**tokenizer, true);
  for (const int32_t id :
       {-1, 0, 255, 256, 300, (*tokenizer)->vocab_size(), INT32_MAX, INT32_MIN}) {
    detokenizer.push(id);
    (*tokenizer)->token_bytes(id);
  }
  detokenizer.finish();
  (*tokenizer)->token_to_id(input.substr(0, 16));
  return 0;
}
