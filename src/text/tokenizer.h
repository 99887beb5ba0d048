// Text to token ids and back, equal to Hugging Face `tokenizers` for the byte-level BPE files of
// this family: NFC, one of two pre-tokenizer regexes, added tokens matched first. Thread-safe once
// loaded: encode and decode are const and keep no shared state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace deltaserve {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;
  bool lstrip = false;
  bool rstrip = false;
  bool single_word = false;
  bool normalized = false;
};

// A stretch of prompt text and whether added tokens written in it are control tokens (the
// template's own text) or plain characters (what a user typed).
struct TextSpan {
  std::string_view text;
  bool allow_added_tokens = true;
};

class Tokenizer {
 public:
  // Reads tokenizer.json and, where present, tokenizer_config.json (more added tokens) of a
  // checkpoint directory. Errors name the file and the key that is missing or not supported.
  static Result<std::unique_ptr<Tokenizer>> load(const std::filesystem::path& directory);

  // From the two files' texts; `config_text` may be empty. For tests and fuzzing.
  static Result<std::unique_ptr<Tokenizer>> from_json(std::string_view tokenizer_text,
                                                      std::string_view config_text);
  ~Tokenizer();

  // Invalid UTF-8 is replaced by U+FFFD first, as a Python str would have been. With
  // `allow_added_tokens` false the literals of added tokens are encoded as ordinary text.
  std::vector<int32_t> encode(std::string_view text, bool allow_added_tokens = true) const;

  // Encodes the concatenation of spans. Added tokens are only recognised inside one allowed span;
  // ordinary text is merged across a border as if there were none.
  std::vector<int32_t> encode(const std::vector<TextSpan>& spans) const;

  // The raw bytes of a token: its text for an added token, "" for an id without one.
  std::string_view token_bytes(int32_t id) const;

  // Decoded text of all ids; invalid UTF-8 is replaced by U+FFFD as `tokenizers` does.
  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const;

  bool is_special(int32_t id) const;  // added with special=true
  bool is_added(int32_t id) const;
  std::optional<int32_t> token_to_id(
      std::string_view token) const;  // added tokens, then vocabulary
  int32_t vocab_size() const;         // highest id + 1
  const std::vector<AddedToken>& added_tokens() const;

  struct Impl;

 private:
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace deltaserve
