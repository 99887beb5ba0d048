// See bpe_loader.h. Settings of other kinds of BPE (byte fallback, word prefixes and suffixes,
// dropout) are accepted only with the values that switch them off.
#include "text/bpe_loader.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "json/fields.h"

namespace deltaserve {
namespace {

constexpr std::string_view kModel = "model";

Result<void> require_off(const json::Object& model) {
  const auto type = json::string_field(model, "type", kModel);
  if (!type) return std::unexpected(type.error());
  if (type->value_or("BPE") != "BPE") {
    return invalid(fmt::format("the tokenizer model '{}' is not supported, only BPE is", **type),
                   "model.type");
  }
  for (const std::string_view key : {"byte_fallback", "fuse_unk"}) {
    const auto value = json::bool_field(model, key, kModel);
    if (!value) return std::unexpected(value.error());
    if (value->value_or(false)) {
      return invalid(fmt::format("'{}' is not supported", key), json::field_name(kModel, key));
    }
  }
  for (const std::string_view key :
       {"continuing_subword_prefix", "end_of_word_suffix", "unk_token"}) {
    const auto value = json::string_field(model, key, kModel);
    if (!value) return std::unexpected(value.error());
    if (!value->value_or("").empty()) {
      return invalid(fmt::format("'{}' is not supported", key), json::field_name(kModel, key));
    }
  }
  const auto dropout = json::number_field(model, "dropout", kModel);
  if (!dropout) return std::unexpected(dropout.error());
  if (dropout->value_or(0.0) != 0.0) {
    return invalid("merge dropout is not supported", "model.dropout");
  }
  return {};
}

Result<Vocabulary> read_vocabulary(const json::Object& model) {
  const auto vocab = json::object_field(model, "vocab", kModel);
  if (!vocab) return std::unexpected(vocab.error());
  if (*vocab == nullptr) return invalid("the vocabulary is missing", "model.vocab");
  Vocabulary vocabulary((*vocab)->size());
  for (const auto& [text, value] : **vocab) {
    const int64_t* const id = value.if_int64();
    if (id == nullptr || *id < 0 || *id >= Vocabulary::kMaxIds) {
      return invalid(fmt::format("the id of token {} is not an integer from 0 to {}",
                                 json::dumps(json::Value(text)), Vocabulary::kMaxIds - 1),
                     "model.vocab");
    }
    if (!vocabulary.add(text, static_cast<int32_t>(*id))) {
      return invalid(fmt::format("two tokens have the id {}", *id), "model.vocab");
    }
  }
  return vocabulary;
}

struct TokenPair {
  std::string_view left;
  std::string_view right;
};

// A rule is "left right" in older files and ["left", "right"] in newer ones.
std::optional<TokenPair> pair_of(const json::Value& rule) {
  if (const auto* text = rule.if_string()) {
    const std::string_view both(text->data(), text->size());
    const size_t space = both.find(' ');
    if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
      return std::nullopt;
    }
    return TokenPair{both.substr(0, space), both.substr(space + 1)};
  }
  const auto* pair = rule.if_array();
  if (pair == nullptr || pair->size() != 2) return std::nullopt;
  const auto* left = (*pair)[0].if_string();
  const auto* right = (*pair)[1].if_string();
  if (left == nullptr || right == nullptr) return std::nullopt;
  return TokenPair{{left->data(), left->size()}, {right->data(), right->size()}};
}

Result<std::vector<MergeRule>> read_merges(const json::Object& model, const Vocabulary& vocab) {
  const auto array = json::array_field(model, "merges", kModel);
  if (!array) return std::unexpected(array.error());
  if (*array == nullptr) return invalid("the merge rules are missing", "model.merges");
  if ((*array)->size() > MergeTable::kMaxRules) {
    return invalid(fmt::format("more than {} merge rules", MergeTable::kMaxRules), "model.merges");
  }
  std::vector<MergeRule> rules;
  rules.reserve((*array)->size());
  std::string merged_text;
  for (size_t i = 0; i < (*array)->size(); ++i) {
    const json::Value& value = (**array)[i];
    const bool is_header =
        i == 0 && value.is_string() && value.get_string().starts_with("#version");
    if (is_header) continue;
    const std::string key = fmt::format("model.merges[{}]", i);
    const std::optional<TokenPair> pair = pair_of(value);
    if (!pair || pair->left.empty() || pair->right.empty()) {
      return invalid("a merge rule is not a pair of tokens", key);
    }
    merged_text.assign(pair->left).append(pair->right);
    const auto left = vocab.find_text(pair->left);
    const auto right = vocab.find_text(pair->right);
    const auto merged = vocab.find_text(merged_text);
    if (!left || !right || !merged) {
      return invalid("a merge rule names a token that is not in the vocabulary", key);
    }
    rules.push_back({*left, *right, *merged});
  }
  return rules;
}

}  // namespace

Result<Bpe> load_bpe(const json::Object& model) {
  if (Result<void> off = require_off(model); !off) return std::unexpected(off.error());
  const auto ignore_merges = json::bool_field(model, "ignore_merges", kModel);
  if (!ignore_merges) return std::unexpected(ignore_merges.error());
  Result<Vocabulary> vocabulary = read_vocabulary(model);
  if (!vocabulary) return std::unexpected(vocabulary.error());
  const auto rules = read_merges(model, *vocabulary);
  if (!rules) return std::unexpected(rules.error());
  return Bpe::create(std::move(*vocabulary), *rules, ignore_merges->value_or(false));
}

}  // namespace deltaserve
