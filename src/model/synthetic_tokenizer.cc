// Ids: 256 bytes, then all 65,536 pairs of bytes, then pairs of common letters with a third byte
// until the base vocabulary is full. Any text encodes; common words become a few tokens.
#include "model/synthetic_tokenizer.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace deltaserve {

namespace {

struct AddedToken {
  std::string_view content;
  bool special;  // dropped by skip_special_tokens
};

// In the order of their ids; Qwen3-Next has the first 26.
constexpr std::array<AddedToken, 33> kAddedTokens = {{
    {"<|endoftext|>", true},      {"<|im_start|>", true},
    {"<|im_end|>", true},         {"<|object_ref_start|>", true},
    {"<|object_ref_end|>", true}, {"<|box_start|>", true},
    {"<|box_end|>", true},        {"<|quad_start|>", true},
    {"<|quad_end|>", true},       {"<|vision_start|>", true},
    {"<|vision_end|>", true},     {"<|vision_pad|>", true},
    {"<|image_pad|>", true},      {"<|video_pad|>", true},
    {"<tool_call>", false},       {"</tool_call>", false},
    {"<|fim_prefix|>", false},    {"<|fim_middle|>", false},
    {"<|fim_suffix|>", false},    {"<|fim_pad|>", false},
    {"<|repo_name|>", false},     {"<|file_sep|>", false},
    {"<tool_response>", false},   {"</tool_response>", false},
    {"<think>", false},           {"</think>", false},
    {"<|audio_start|>", true},    {"<|audio_end|>", true},
    {"<tts_pad>", true},          {"<tts_text_bos>", true},
    {"<tts_text_eod>", true},     {"<tts_text_bos_single>", true},
    {"<|audio_pad|>", true},
}};

struct Release {
  int32_t base_vocabulary;
  size_t num_added;
  std::string_view pattern;
};

constexpr Release kQwen35 = {
    248044, 33,
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Release kQwen3 = {
    151643, 26,
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Space and letters by frequency in English: their pairs get a third byte first.
constexpr std::string_view kCommon = " etaoinshrdlcumwfgypbvkjxqz";

constexpr std::string_view kChatTemplate =
    R"({%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\n' -}}
{%- if enable_thinking is defined and enable_thinking is true -%}
{{- '<think>\n' -}}
{%- else -%}
{{- '<think>\n\n</think>\n\n' -}}
{%- endif -%}
{%- endif -%}
)";

std::string utf8(uint32_t code_point) {
  if (code_point < 0x80) {
    return {static_cast<char>(code_point)};
  }
  return {static_cast<char>(0xc0U | (code_point >> 6)),
          static_cast<char>(0x80U | (code_point & 0x3fU))};
}

// GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the other 68 for U+0100 and on.
std::array<std::string, 256> byte_letters() {
  std::array<std::string, 256> letters;
  uint32_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    letters[byte] = utf8(printable ? byte : next++);
  }
  return letters;
}

// Bytes in the order in which they are paired: common ones first.
std::vector<size_t> byte_order() {
  std::vector<size_t> order;
  for (const char c : kCommon) {
    order.push_back(static_cast<unsigned char>(c));
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    if (kCommon.find(static_cast<char>(byte)) == std::string_view::npos) {
      order.push_back(byte);
    }
  }
  return order;
}

using Merge = std::pair<std::string, std::string>;

std::vector<Merge> generate_merges(const std::array<std::string, 256>& letters, size_t count) {
  const std::vector<size_t> order = byte_order();
  std::vector<Merge> merges;
  merges.reserve(count);
  for (const size_t a : order) {
    for (const size_t b : order) {
      if (merges.size() < count) {
        merges.emplace_back(letters[a], letters[b]);
      }
    }
  }
  for (size_t a = 0; a < kCommon.size(); ++a) {
    for (size_t b = 0; b < kCommon.size(); ++b) {
      for (size_t c = 0; c < order.size() && merges.size() < count; ++c) {
        merges.emplace_back(letters[order[a]] + letters[order[b]], letters[order[c]]);
      }
    }
  }
  return merges;
}

json::Value added_token(size_t index, int32_t base) {
  return {{"id", base + static_cast<int32_t>(index)},
          {"content", kAddedTokens[index].content},
          {"single_word", false},
          {"lstrip", false},
          {"rstrip", false},
          {"normalized", false},
          {"special", kAddedTokens[index].special}};
}

json::Object byte_level() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

json::Object tokenizer_json(const Release& release) {
  const std::array<std::string, 256> letters = byte_letters();
  json::Object vocabulary;
  vocabulary.reserve(static_cast<size_t>(release.base_vocabulary));
  for (const std::string& letter : letters) {
    vocabulary.emplace(letter, vocabulary.size());
  }
  json::Array merges;
  const size_t num_merges = static_cast<size_t>(release.base_vocabulary) - letters.size();
  merges.reserve(num_merges);
  for (const auto& [left, right] : generate_merges(letters, num_merges)) {
    vocabulary.emplace(left + right, vocabulary.size());
    merges.push_back(json::Array{json::Value(left), json::Value(right)});
  }
  json::Array added;
  for (size_t i = 0; i < release.num_added; ++i) {
    added.push_back(added_token(i, release.base_vocabulary));
  }
  const json::Object split = {{"type", "Split"},
                              {"pattern", json::Object{{"Regex", release.pattern}}},
                              {"behavior", "Isolated"},
                              {"invert", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", json::Object{{"type", "NFC"}}},
          {"pre_tokenizer",
           json::Object{{"type", "Sequence"}, {"pretokenizers", json::Array{split, byte_level()}}}},
          {"post_processor", nullptr},
          {"decoder", byte_level()},
          {"model", json::Object{{"type", "BPE"},
                                 {"dropout", nullptr},
                                 {"unk_token", nullptr},
                                 {"continuing_subword_prefix", nullptr},
                                 {"end_of_word_suffix", nullptr},
                                 {"fuse_unk", false},
                                 {"byte_fallback", false},
                                 {"ignore_merges", false},
                                 {"vocab", std::move(vocabulary)},
                                 {"merges", std::move(merges)}}}};
}

Result<void> write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (!stream) {
    return fail(ErrorCode::kInternal,
                fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  }
  return {};
}

}  // namespace

Result<void> write_synthetic_tokenizer(const ModelConfig& config,
                                       const std::filesystem::path& directory) {
  const Release& release = config.fused_qkvz ? kQwen3 : kQwen35;
  const int32_t end_of_text = release.base_vocabulary;
  const int32_t im_end = release.base_vocabulary + 2;
  const json::Object settings = {{"tokenizer_class", "Qwen2Tokenizer"},
                                 {"add_bos_token", false},
                                 {"add_prefix_space", false},
                                 {"bos_token", nullptr},
                                 {"eos_token", "<|im_end|>"},
                                 {"pad_token", "<|endoftext|>"},
                                 {"model_max_length", config.max_position_embeddings}};
  const json::Object generation = {{"eos_token_id", json::Array{im_end, end_of_text}},
                                   {"pad_token_id", end_of_text},
                                   {"do_sample", true},
                                   {"temperature", 1.0},
                                   {"top_k", 20},
                                   {"top_p", 0.95}};
  const std::pair<std::string_view, std::string> files[] = {
      {"tokenizer.json", json::serialize(tokenizer_json(release))},
      {"tokenizer_config.json", json::dumps(settings, 2)},
      {"chat_template.jinja", std::string(kChatTemplate)},
      {"generation_config.json", json::dumps(generation, 2)}};
  for (const auto& [name, text] : files) {
    if (Result<void> wrote = write_text(directory / name, text); !wrote) {
      return wrote;
    }
  }
  return {};
}

}  // namespace deltaserve
