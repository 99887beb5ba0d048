// Encodes and decodes records from stdin with deltaserve's tokenizer, for oracle_tokenizer.py:
//   text_encode_tool DIRECTORY     (holds tokenizer.json and perhaps tokenizer_config.json)
// A record is a kind byte, a 32-bit little-endian payload length and the payload; it is answered by
// one line. 'e': text, 's': spans (flag byte, 32-bit length, text, repeated), both answered by ids;
// 'd': 32-bit ids, answered by decode and the streamed text, each with and without special tokens,
// as hex after a '.'.
#include <cstdint>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace deltaserve {
namespace {

uint32_t take_u32(std::string_view& bytes) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::string_view take(std::string_view& bytes, size_t count) {
  const std::string_view front = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return front;
}

std::string ids_line(const std::vector<int32_t>& ids) {
  std::string line;
  for (const int32_t id : ids) line.append(line.empty() ? "" : " ").append(std::to_string(id));
  return line;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = ".";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte / 16];
    out += kDigits[byte % 16];
  }
  return out;
}

std::string encode_spans(const Tokenizer& tokenizer, std::string_view payload) {
  std::vector<TextSpan> spans;
  while (!payload.empty()) {
    const bool allowed = take(payload, 1)[0] != 0;
    const uint32_t length = take_u32(payload);
    spans.push_back({take(payload, length), allowed});
  }
  return ids_line(tokenizer.encode(spans));
}

std::string decode_all_ways(const Tokenizer& tokenizer, std::string_view payload) {
  std::vector<int32_t> ids(payload.size() / sizeof(int32_t));
  for (int32_t& id : ids) id = static_cast<int32_t>(take_u32(payload));
  std::string line;
  for (const bool skip : {false, true}) {
    Detokenizer detokenizer(tokenizer, skip);
    std::string streamed;
    for (const int32_t id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.finish();
    line.append(hex(tokenizer.decode(ids, skip))).append(" ").append(hex(streamed)).append(" ");
  }
  return line;
}

int run(const char* directory) {
  const auto tokenizer = Tokenizer::load(directory);
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << '\n';
    return 1;
  }
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  for (std::string_view rest = input; !rest.empty();) {
    const char kind = take(rest, 1)[0];
    const uint32_t length = take_u32(rest);
    const std::string_view payload = take(rest, length);
    if (kind == 'e') {
      std::cout << ids_line((*tokenizer)->encode(payload)) << '\n';
    } else if (kind == 's') {
      std::cout << encode_spans(**tokenizer, payload) << '\n';
    } else {
      std::cout << decode_all_ways(**tokenizer, payload) << '\n';
    }
  }
  return 0;
}

}  // namespace
}  // namespace deltaserve

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: text_encode_tool DIRECTORY\n";
    return 2;
  }
  return deltaserve::run(argv[1]);
}
