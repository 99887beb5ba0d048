// See solid_characters.h.
#include "text/solid_characters.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/utf8.h"

namespace deltaserve {
namespace {

// The lowest rank of the rules that have these bytes at their border.
using LowestRanks = std::unordered_map<std::string, uint32_t>;

constexpr uint32_t kNoRank = MergeTable::kNoRank;

// What stands at one end of a token: a character, or a part of one.
struct End {
  std::string_view bytes;
  bool is_whole = false;
};

End first_of(std::string_view token) {
  const utf8::Unit unit = utf8::unit_at(token, 0);
  return {token.substr(0, unit.length), unit.kind == utf8::UnitKind::kCharacter};
}

End last_of(std::string_view token) {
  size_t begin = token.size() - 1;
  while (begin > 0 && utf8::is_continuation(token[begin])) --begin;
  const utf8::Unit unit = utf8::unit_at(token, begin);
  const bool is_whole =
      unit.kind == utf8::UnitKind::kCharacter && begin + unit.length == token.size();
  return {token.substr(begin), is_whole};
}

void lower(LowestRanks& ranks, std::string_view bytes, uint32_t rank) {
  const auto [entry, is_new] = ranks.try_emplace(std::string(bytes), rank);
  if (!is_new) entry->second = std::min(entry->second, rank);
}

uint32_t lowest(const LowestRanks& ranks, std::string_view bytes) {
  const auto entry = ranks.find(std::string(bytes));
  return entry == ranks.end() ? kNoRank : entry->second;
}

// Merges the bytes of one character on their own. The highest rank used, or kNoRank if they do not
// become `token`.
uint32_t highest_rank_inside(std::string_view bytes, int32_t token, const Vocabulary& vocabulary,
                             const MergeTable& merges) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < bytes.size(); ++i) ids.push_back(vocabulary.find(bytes.substr(i, 1)));
  uint32_t highest = 0;
  while (ids.size() > 1) {
    size_t best = 0;
    uint32_t best_rank = kNoRank;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const uint32_t rank = merges.rank(ids[i], ids[i + 1]);
      if (rank < best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    if (best_rank == kNoRank) return kNoRank;
    highest = std::max(highest, best_rank);
    ids[best] = merges.merged(best_rank);
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  return ids.front() == token ? highest : kNoRank;
}

}  // namespace

void SolidCharacters::add_threat(std::string_view character, bool Character::*threat) {
  const char32_t code_point = utf8::decode_valid(character.data()).code_point;
  if (code_point < kEnd) characters_[code_point].*threat = true;
}

SolidCharacters::SolidCharacters(const Vocabulary& vocabulary, const std::vector<MergeRule>& rules,
                                 const MergeTable& merges)
    : characters_(kEnd) {
  LowestRanks before;  // by what ends a rule's left token
  LowestRanks after;   // by what begins its right token
  for (uint32_t rank = 0; rank < rules.size(); ++rank) {
    const End left = last_of(vocabulary.bytes(rules[rank].left));
    const End right = first_of(vocabulary.bytes(rules[rank].right));
    if (utf8::is_continuation(right.bytes.front())) continue;  // joins inside a character
    if (left.is_whole || !right.is_whole) lower(before, left.bytes, rank);
    if (right.is_whole || !left.is_whole) lower(after, right.bytes, rank);
    if (left.is_whole && !right.is_whole) add_threat(left.bytes, &Character::threatens_next);
    if (right.is_whole && !left.is_whole) add_threat(right.bytes, &Character::threatens_previous);
  }
  std::string bytes;
  for (char32_t c = 0x80; c < kEnd; ++c) {
    bytes.clear();
    utf8::append(bytes, c);
    const int32_t token = vocabulary.find(bytes);
    if (token == Vocabulary::kNoToken) continue;
    const uint32_t inside = highest_rank_inside(bytes, token, vocabulary, merges);
    uint32_t outside = kNoRank;
    for (size_t i = 0; i < bytes.size(); ++i) {
      outside = std::min(outside, lowest(before, std::string_view(bytes).substr(i)));
      outside = std::min(outside, lowest(after, std::string_view(bytes).substr(0, i + 1)));
    }
    if (inside < outside) characters_[c].token = token;
  }
}

}  // namespace deltaserve
