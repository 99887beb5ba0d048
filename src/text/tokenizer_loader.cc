// See tokenizer_loader.h. "truncation" and "padding" of tokenizer.json are about batches of
// training text and are left aside, as serving code around `tokenizers` does.
#include "text/tokenizer_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "json/fields.h"
#include "json/json.h"
#include "text/bpe_loader.h"

namespace deltaserve {
namespace {

constexpr std::string_view kTokenizerFile = "tokenizer.json";
constexpr std::string_view kConfigFile = "tokenizer_config.json";
constexpr std::string_view kSteps = "pre_tokenizer.pretokenizers";

std::string_view type_of(const json::Object& object) {
  const json::Value* const type = json::find_field(object, "type");
  if (type == nullptr || !type->is_string()) return "(none)";
  return {type->get_string().data(), type->get_string().size()};
}

Result<const json::Object*> required_object(const json::Object& file, std::string_view key) {
  const auto object = json::object_field(file, key);
  if (!object) return std::unexpected(object.error());
  if (*object == nullptr) return invalid(fmt::format("'{}' is missing", key), std::string(key));
  return *object;
}

Result<void> require_type(const json::Object& file, std::string_view key, std::string_view type) {
  const auto object = required_object(file, key);
  if (!object) return std::unexpected(object.error());
  if (type_of(**object) != type) {
    return invalid(
        fmt::format("the {} '{}' is not supported, only {} is", key, type_of(**object), type),
        fmt::format("{}.type", key));
  }
  return {};
}

bool flag_or(const json::Object& object, std::string_view key, bool otherwise) {
  const json::Value* const value = json::find_field(object, key);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

// ByteLevel as the second step: it must only map bytes to the alphabet.
bool only_maps_bytes(const json::Object& step) {
  return type_of(step) == "ByteLevel" && !flag_or(step, "add_prefix_space", true) &&
         !flag_or(step, "use_regex", true);
}

Result<PreTokenizer> read_pre_tokenizer(const json::Object& file) {
  const auto pre = required_object(file, "pre_tokenizer");
  if (!pre) return std::unexpected(pre.error());
  const auto steps = json::array_field(**pre, "pretokenizers", "pre_tokenizer");
  if (!steps) return std::unexpected(steps.error());
  if (type_of(**pre) != "Sequence" || *steps == nullptr || (*steps)->size() != 2 ||
      !(**steps)[0].is_object() || !(**steps)[1].is_object()) {
    return invalid("the pre-tokenizer must be a Sequence of Split and ByteLevel", "pre_tokenizer");
  }
  const json::Object& split = (**steps)[0].get_object();
  const json::Value* const behavior = json::find_field(split, "behavior");
  if (type_of(split) != "Split" || behavior == nullptr || *behavior != "Isolated" ||
      flag_or(split, "invert", false)) {
    return invalid("the pre-tokenizer's first step must be a Split that isolates its matches",
                   fmt::format("{}[0]", kSteps));
  }
  if (!only_maps_bytes((**steps)[1].get_object())) {
    return invalid(
        "the pre-tokenizer's second step must be ByteLevel without prefix space and regex",
        fmt::format("{}[1]", kSteps));
  }
  const auto pattern = json::object_field(split, "pattern");
  const auto regex = pattern && *pattern != nullptr ? json::string_field(**pattern, "Regex")
                                                    : std::optional<std::string_view>();
  const auto matcher = regex && *regex ? PreTokenizer::for_pattern(**regex) : std::nullopt;
  if (!matcher) {
    return invalid("the Split regex is neither Qwen3's nor Qwen3.5's",
                   fmt::format("{}[0].pattern.Regex", kSteps));
  }
  return *matcher;
}

bool is_sequence_placeholder(const json::Value& piece) {
  const auto* object = piece.if_object();
  return object != nullptr && object->size() == 1 && object->contains("Sequence");
}

// Whether a post-processor leaves the ids of one text as they are.
bool adds_nothing(const json::Object& processor) {
  const std::string_view type = type_of(processor);
  if (type == "ByteLevel") return true;
  const std::string_view key = type == "Sequence" ? "processors" : "single";
  const json::Value* const parts = json::find_field(processor, key);
  if (parts == nullptr || !parts->is_array()) return false;
  if (type == "TemplateProcessing") {
    return parts->get_array().size() == 1 && is_sequence_placeholder(parts->get_array()[0]);
  }
  return type == "Sequence" && std::ranges::all_of(parts->get_array(), [](const json::Value& part) {
           return part.is_object() && adds_nothing(part.get_object());
         });
}

Result<void> check_post_processor(const json::Object& file) {
  const auto processor = json::object_field(file, "post_processor");
  if (!processor) return std::unexpected(processor.error());
  if (*processor != nullptr && !adds_nothing(**processor)) {
    return invalid(fmt::format("the post-processor '{}' adds tokens, which is not supported",
                               type_of(**processor)),
                   "post_processor");
  }
  return {};
}

using AddedById = std::map<int64_t, AddedToken>;

// Adds a token, or changes the flags of the one with this id.
Result<void> put_added_token(AddedById& tokens, const Vocabulary& vocabulary, int64_t id,
                             const json::Object& object, const std::string& key) {
  const auto content = json::string_field(object, "content", key);
  if (!content) return std::unexpected(content.error());
  if (content->value_or("").empty()) return invalid("an added token has no content", key);
  if (id < 0 || id >= Vocabulary::kMaxIds) {
    return invalid(fmt::format("an added token's id is not from 0 to {}", Vocabulary::kMaxIds - 1),
                   key);
  }
  const std::optional<int32_t> in_vocabulary = vocabulary.find_text(**content);
  const bool is_taken = vocabulary.contains(static_cast<int32_t>(id));
  if (in_vocabulary ? *in_vocabulary != id : is_taken) {
    return invalid("an added token contradicts the id in the vocabulary", key);
  }
  const auto known = tokens.find(id);
  if (known != tokens.end() && known->second.content != **content) {
    return invalid(fmt::format("two added tokens have the id {}", id), key);
  }
  const bool special = flag_or(object, "special", false);
  tokens[id] = {static_cast<int32_t>(id),
                std::string(**content),
                special,
                flag_or(object, "lstrip", false),
                flag_or(object, "rstrip", false),
                flag_or(object, "single_word", false),
                flag_or(object, "normalized", !special)};
  return {};
}

Result<void> read_added_tokens(const json::Object& file, const Vocabulary& vocabulary,
                               AddedById& tokens) {
  const auto list = json::array_field(file, "added_tokens");
  if (!list) return std::unexpected(list.error());
  if (*list == nullptr) return {};
  for (size_t i = 0; i < (*list)->size(); ++i) {
    const std::string key = fmt::format("added_tokens[{}]", i);
    const auto* object = (**list)[i].if_object();
    if (object == nullptr) return invalid("an added token is not an object", key);
    const auto id = json::integer_field(*object, "id", key);
    if (!id) return std::unexpected(id.error());
    if (Result<void> put = put_added_token(tokens, vocabulary, id->value_or(-1), *object, key);
        !put) {
      return put;
    }
  }
  return {};
}

// added_tokens_decoder of tokenizer_config.json: {"248070": {"content": ...}}. As in transformers
// its flags count where both files name a token.
Result<void> read_config_tokens(const json::Object& config, const Vocabulary& vocabulary,
                                AddedById& tokens) {
  const auto decoder = json::object_field(config, "added_tokens_decoder");
  if (!decoder) return std::unexpected(decoder.error());
  if (*decoder == nullptr) return {};
  for (const auto& [id_text, value] : **decoder) {
    const std::string key = fmt::format("added_tokens_decoder.{}", std::string_view(id_text));
    int64_t id = -1;
    const char* const end = id_text.data() + id_text.size();
    const auto [parsed, error] = std::from_chars(id_text.data(), end, id);
    const auto* object = value.if_object();
    if (error != std::errc() || parsed != end || object == nullptr) {
      return invalid("an added token is not an id with an object", key);
    }
    if (Result<void> put = put_added_token(tokens, vocabulary, id, *object, key); !put) return put;
  }
  return {};
}

Result<void> check_contents_differ(const AddedById& tokens) {
  std::map<std::string_view, int64_t> ids;
  for (const auto& [id, token] : tokens) {
    const auto [known, is_new] = ids.try_emplace(token.content, id);
    if (!is_new) {
      return invalid(
          fmt::format("the added tokens {} and {} have the same content", known->second, id),
          "added_tokens");
    }
  }
  return {};
}

Result<json::Value> parse_object(std::string_view text) {
  Result<json::Value> value = json::parse(text);
  if (value && !value->is_object()) return invalid("the file is not a JSON object");
  return value;
}

std::unexpected<Error> in_file(std::string_view file, Error error) {
  error.message = error.param.empty()
                      ? fmt::format("{}: {}", file, error.message)
                      : fmt::format("{}: {} ({})", file, error.message, error.param);
  return std::unexpected(std::move(error));
}

Result<TokenizerParts> read_tokenizer(const json::Object& file, AddedById& tokens) {
  if (auto done = require_type(file, "normalizer", "NFC"); !done)
    return std::unexpected(done.error());
  const Result<PreTokenizer> pre_tokenizer = read_pre_tokenizer(file);
  if (!pre_tokenizer) return std::unexpected(pre_tokenizer.error());
  if (auto done = check_post_processor(file); !done) return std::unexpected(done.error());
  if (auto done = require_type(file, "decoder", "ByteLevel"); !done)
    return std::unexpected(done.error());
  const auto model = required_object(file, "model");
  if (!model) return std::unexpected(model.error());
  Result<Bpe> bpe = load_bpe(**model);
  if (!bpe) return std::unexpected(bpe.error());
  if (auto done = read_added_tokens(file, bpe->vocabulary(), tokens); !done) {
    return std::unexpected(done.error());
  }
  return TokenizerParts{std::move(*bpe), *pre_tokenizer, {}};
}

}  // namespace

Result<TokenizerParts> load_tokenizer(std::string_view tokenizer_text,
                                      std::string_view config_text) {
  const Result<json::Value> file = parse_object(tokenizer_text);
  if (!file) return in_file(kTokenizerFile, file.error());
  AddedById tokens;
  Result<TokenizerParts> parts = read_tokenizer(file->get_object(), tokens);
  if (!parts) return in_file(kTokenizerFile, parts.error());
  if (!config_text.empty()) {
    const Result<json::Value> config = parse_object(config_text);
    if (!config) return in_file(kConfigFile, config.error());
    const auto done = read_config_tokens(config->get_object(), parts->bpe.vocabulary(), tokens);
    if (!done) return in_file(kConfigFile, done.error());
  }
  if (const auto done = check_contents_differ(tokens); !done) {
    return in_file(kTokenizerFile, done.error());
  }
  for (auto& [id, token] : tokens) parts->added_tokens.push_back(std::move(token));
  return parts;
}

}  // namespace deltaserve
