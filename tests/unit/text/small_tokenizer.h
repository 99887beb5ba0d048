// A tokenizer.json small enough to read: the 256 bytes, then the tokens that the given rules make,
// then added tokens. Ids: a byte's is its value, a rule's product 256 + its index.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer.h"

namespace deltaserve {

inline constexpr const char* kMarksRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kNoMarksRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Rules = std::vector<std::pair<std::string, std::string>>;  // as bytes

inline json::Object small_tokenizer_json(const Rules& rules, const json::Array& added_tokens = {},
                                         const char* regex = kMarksRegex) {
  json::Object vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab[alphabet_from_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  }
  json::Array merges;
  for (const auto& [left, right] : rules) {
    vocab[alphabet_from_bytes(left + right)] = 256 + merges.size();
    merges.push_back(json::Array{json::Value(alphabet_from_bytes(left)),
                                 json::Value(alphabet_from_bytes(right))});
  }
  const json::Object split{{"type", "Split"},
                           {"pattern", json::Object{{"Regex", regex}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  const json::Object bytes{{"type", "ByteLevel"},
                           {"add_prefix_space", false},
                           {"trim_offsets", false},
                           {"use_regex", false}};
  return {{"added_tokens", added_tokens},
          {"normalizer", json::Object{{"type", "NFC"}}},
          {"pre_tokenizer",
           json::Object{{"type", "Sequence"}, {"pretokenizers", json::Array{split, bytes}}}},
          {"post_processor", nullptr},
          {"decoder", json::Object{{"type", "ByteLevel"}}},
          {"model", json::Object{{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

inline json::Object added_token_json(int id, const std::string& content, bool special) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

inline Result<std::unique_ptr<Tokenizer>> load_json(const json::Object& file,
                                                    const std::string& config = {}) {
  return Tokenizer::from_json(json::serialize(json::Value(file)), config);
}

}  // namespace deltaserve
