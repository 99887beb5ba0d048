// See tokenizer.h. The order of `tokenizers`: literals of added tokens that match raw text, NFC of
// what lies between, literals that match normalised text, pre-tokenizer, BPE.
#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/read_file.h"
#include "text/added_token_matcher.h"
#include "text/byte_alphabet.h"
#include "text/normalize.h"
#include "text/tokenizer_loader.h"
#include "text/utf8.h"

namespace deltaserve {
namespace {

constexpr int32_t kNotAdded = -1;
constexpr size_t kBytesPerToken = 3;  // fewer than in most text, so that one allocation is enough
// Those of the largest vocabularies have some 20 MB.
constexpr size_t kMaxFileBytes = size_t{256} << 20;

struct Range {
  size_t begin = 0;
  size_t end = 0;
};

// Where added tokens may be recognised, in the coordinates of normalised text: the part of `range`
// inside text[piece.begin, piece.end), less characters that were composed across its borders.
Range map_range(Range range, Range piece, const std::vector<NfcEdit>& edits) {
  const auto map = [&edits](size_t position, bool is_begin) {
    const auto after = std::ranges::upper_bound(edits, position, {}, &NfcEdit::input_begin);
    if (after == edits.begin()) return position;
    const NfcEdit& edit = *std::prev(after);
    if (position == edit.input_begin) return edit.output_begin;
    if (position < edit.input_end) return is_begin ? edit.output_end : edit.output_begin;
    return position - edit.input_end + edit.output_end;
  };
  const size_t begin = std::clamp(range.begin, piece.begin, piece.end) - piece.begin;
  const size_t end = std::clamp(range.end, piece.begin, piece.end) - piece.begin;
  return {map(begin, true), map(end, false)};
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(TokenizerParts parts);

  struct Encoding {
    std::vector<int32_t> ids;
    BpeScratch scratch;
  };

  std::vector<int32_t> encode(std::string_view text, const std::vector<Range>& allowed) const;
  void encode_between(std::string_view text, Range piece, const std::vector<Range>& allowed,
                      Encoding& encoding) const;
  void encode_plain(std::string_view text, Encoding& encoding) const;

  int32_t added_index(int32_t id) const {
    return id >= 0 && std::cmp_less(id, added_index_by_id.size())
               ? added_index_by_id[static_cast<size_t>(id)]
               : kNotAdded;
  }

  TokenizerParts parts;
  AddedTokenMatcher raw_matcher;
  AddedTokenMatcher normalized_matcher;
  std::vector<int32_t> added_index_by_id;  // [vocab_size], kNotAdded for other tokens
  std::vector<std::string> added_bytes;    // of parts.added_tokens
  std::unordered_map<std::string_view, int32_t> added_ids;
};

Tokenizer::Impl::Impl(TokenizerParts loaded) : parts(std::move(loaded)) {
  int32_t id_end = parts.bpe.vocabulary().id_end();
  if (!parts.added_tokens.empty()) id_end = std::max(id_end, parts.added_tokens.back().id + 1);
  added_index_by_id.assign(static_cast<size_t>(id_end), kNotAdded);
  for (const AddedToken& token : parts.added_tokens) {
    added_index_by_id[static_cast<size_t>(token.id)] = static_cast<int32_t>(added_bytes.size());
    // `tokenizers` decodes an added token as the text it matches, and through the byte alphabet.
    const std::string text = token.normalized ? normalize_nfc(token.content) : token.content;
    added_bytes.push_back(bytes_from_alphabet(text).value_or(text));
    added_ids.emplace(token.content, token.id);
  }
  // Of two literals that are equal once normalised the first counts; special tokens come first.
  for (const bool special : {true, false}) {
    for (const AddedToken& token : parts.added_tokens) {
      if (token.special != special) continue;
      if (token.normalized) {
        normalized_matcher.add(normalize_nfc(token.content), token);
      } else {
        raw_matcher.add(token.content, token);
      }
    }
  }
}

void Tokenizer::Impl::encode_plain(std::string_view text, Encoding& encoding) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = parts.pre_tokenizer.piece_end(text, begin);
    parts.bpe.encode(text.substr(begin, end - begin), encoding.scratch, encoding.ids);
    begin = end;
  }
}

void Tokenizer::Impl::encode_between(std::string_view text, Range piece,
                                     const std::vector<Range>& allowed, Encoding& encoding) const {
  std::string_view normalized = text.substr(piece.begin, piece.end - piece.begin);
  std::string storage;
  std::vector<NfcEdit> edits;
  if (find_nfc_candidate(normalized, 0) < normalized.size()) {
    storage = normalize_nfc(normalized, &edits);
    normalized = storage;
  }
  std::vector<AddedTokenMatch> matches;
  if (!normalized_matcher.empty()) {
    size_t taken = 0;
    for (const Range& range : allowed) {
      const auto [begin, end] = map_range(range, piece, edits);
      taken = normalized_matcher.find(normalized, begin, end, taken, matches);
    }
  }
  size_t done = 0;
  for (const AddedTokenMatch& match : matches) {
    if (match.begin > done) encode_plain(normalized.substr(done, match.begin - done), encoding);
    encoding.ids.push_back(match.id);
    done = match.end;
  }
  encode_plain(normalized.substr(done), encoding);
}

std::vector<int32_t> Tokenizer::Impl::encode(std::string_view text,
                                             const std::vector<Range>& allowed) const {
  std::vector<AddedTokenMatch> matches;
  size_t taken = 0;
  for (const Range& range : allowed) {
    taken = raw_matcher.find(text, range.begin, range.end, taken, matches);
  }
  Encoding encoding;
  encoding.ids.reserve(text.size() / kBytesPerToken + 1);
  size_t done = 0;
  for (const AddedTokenMatch& match : matches) {
    if (match.begin > done) encode_between(text, {done, match.begin}, allowed, encoding);
    encoding.ids.push_back(match.id);
    done = match.end;
  }
  if (done < text.size()) encode_between(text, {done, text.size()}, allowed, encoding);
  return std::move(encoding.ids);
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::load(const std::filesystem::path& directory) {
  const Result<std::string> tokenizer_text = read_file(directory / "tokenizer.json", kMaxFileBytes);
  if (!tokenizer_text) return std::unexpected(tokenizer_text.error());
  std::string config_text;
  const std::filesystem::path config_path = directory / "tokenizer_config.json";
  if (has_file(config_path)) {
    Result<std::string> read = read_file(config_path, kMaxFileBytes);
    if (!read) return std::unexpected(read.error());
    config_text = std::move(*read);
  }
  return from_json(*tokenizer_text, config_text);
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_text,
                                                        std::string_view config_text) {
  Result<TokenizerParts> parts = load_tokenizer(tokenizer_text, config_text);
  if (!parts) return std::unexpected(parts.error());
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::make_unique<Impl>(std::move(*parts))));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool allow_added_tokens) const {
  return encode({{text, allow_added_tokens}});
}

std::vector<int32_t> Tokenizer::encode(const std::vector<TextSpan>& spans) const {
  if (spans.size() == 1 && utf8::is_valid(spans.front().text)) {
    const TextSpan& span = spans.front();
    return impl_->encode(span.text, span.allow_added_tokens
                                        ? std::vector<Range>{{0, span.text.size()}}
                                        : std::vector<Range>{});
  }
  std::string text;
  std::vector<Range> allowed;
  for (const TextSpan& span : spans) {
    const size_t begin = text.size();
    utf8::append_repaired(text, span.text, false);
    if (span.allow_added_tokens) allowed.push_back({begin, text.size()});
  }
  return impl_->encode(text, allowed);
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  const int32_t added = impl_->added_index(id);
  return added == kNotAdded ? impl_->parts.bpe.vocabulary().bytes(id)
                            : std::string_view(impl_->added_bytes[static_cast<size_t>(added)]);
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const int32_t id : ids) {
    if (!skip_special_tokens || !is_special(id)) bytes.append(token_bytes(id));
  }
  return utf8::is_valid(bytes) ? bytes : utf8::repair(bytes);
}

bool Tokenizer::is_added(int32_t id) const {
  return impl_->added_index(id) != kNotAdded;
}

bool Tokenizer::is_special(int32_t id) const {
  const int32_t added = impl_->added_index(id);
  return added != kNotAdded && impl_->parts.added_tokens[static_cast<size_t>(added)].special;
}

std::optional<int32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto added = impl_->added_ids.find(token);
  if (added != impl_->added_ids.end()) return added->second;
  if (!utf8::is_valid(token)) return std::nullopt;
  return impl_->parts.bpe.vocabulary().find_text(token);
}

int32_t Tokenizer::vocab_size() const {
  return static_cast<int32_t>(impl_->added_index_by_id.size());
}

const std::vector<AddedToken>& Tokenizer::added_tokens() const {
  return impl_->parts.added_tokens;
}

}  // namespace deltaserve
