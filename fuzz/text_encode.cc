// Any bytes as text, whole and cut into spans: every id is in the vocabulary, ordinary text decodes
// to itself once it is in NFC, and streaming gives what decoding gives.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "json/json.h"
#include "text/byte_alphabet.h"
#include "text/detokenizer.h"
#include "text/normalize.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace {

using namespace deltaserve;  // NOLINT: one file, one purpose

// All bytes, some rules over ASCII and Chinese, and added tokens with every flag.
std::unique_ptr<Tokenizer> make_tokenizer() {
  json::Object vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab[alphabet_from_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  }
  json::Array merges;
  constexpr std::pair<const char*, const char*> kRules[] = {
      {"a", "a"},       {"aa", "aa"},
      {"a", "b"},       {" ", "a"},
      {"\xE7", "\x9A"}, {"\xE7\x9A", "\x84"},
      {"b", "\xE7"},    {"\xE7\x9A\x84", "a"},
      {"'", "s"},       {"\xE7\x9A\x84", "\xE7"}};
  for (const auto& [left, right] : kRules) {
    vocab[alphabet_from_bytes(std::string(left) + right)] = 256 + merges.size();
    merges.push_back(json::Array{json::Value(alphabet_from_bytes(left)),
                                 json::Value(alphabet_from_bytes(right))});
  }
  json::Array added;
  constexpr std::string_view kContents[] = {"<x>", "<l>", "<r>", "word", "A\u030A", "  b"};
  for (size_t i = 0; i < std::size(kContents); ++i) {
    added.push_back(json::Object{{"id", 300 + i},
                                 {"content", kContents[i]},
                                 {"special", i == 0},
                                 {"lstrip", i == 1},
                                 {"rstrip", i == 2},
                                 {"single_word", i == 3},
                                 {"normalized", i == 4}});
  }
  constexpr std::string_view kRegex =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const json::Object split{
      {"type", "Split"}, {"pattern", json::Object{{"Regex", kRegex}}}, {"behavior", "Isolated"}};
  const json::Object bytes{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const json::Value file = json::Object{
      {"added_tokens", added},
      {"normalizer", json::Object{{"type", "NFC"}}},
      {"pre_tokenizer",
       json::Object{{"type", "Sequence"}, {"pretokenizers", json::Array{split, bytes}}}},
      {"decoder", json::Object{{"type", "ByteLevel"}}},
      {"model", json::Object{{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  return Tokenizer::from_json(json::serialize(file), "").value();
}

std::vector<TextSpan> cut(std::string_view text) {
  std::vector<TextSpan> spans;
  for (size_t at = 0; at < text.size();) {
    const size_t length = 1 + static_cast<unsigned char>(text[at]) % 13;
    spans.push_back({text.substr(at, length), text[at] % 2 == 0});
    at += length;
  }
  return spans;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string normalized = normalize_nfc(utf8::repair(text));
  if (normalize_nfc(normalized) != normalized) std::abort();
  if (tokenizer->decode(tokenizer->encode(text, false), false) != normalized) std::abort();
  for (const auto& ids : {tokenizer->encode(text), tokenizer->encode(cut(text))}) {
    Detokenizer detokenizer(*tokenizer, true);
    std::string streamed;
    for (const int32_t id : ids) {
      if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      streamed += detokenizer.push(id);
    }
    if (streamed + detokenizer.finish() != tokenizer->decode(ids, true)) std::abort();
  }
  return 0;
}
