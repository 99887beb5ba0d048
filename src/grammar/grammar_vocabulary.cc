// Groups of plain tokens, and how far plain text may go on from a state.
#include "grammar/grammar_vocabulary.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace deltaserve {
namespace {

struct ByteRange {
  uint8_t low;
  uint8_t high;
};

// Table 3-7 of the Unicode standard: lead byte, second byte, and how many more.
struct Utf8Form {
  ByteRange lead;
  ByteRange second;
  int more;
};
constexpr std::array<Utf8Form, 8> kUtf8Forms = {{{{0xC2, 0xDF}, {0x80, 0xBF}, 0},
                                                 {{0xE0, 0xE0}, {0xA0, 0xBF}, 1},
                                                 {{0xE1, 0xEC}, {0x80, 0xBF}, 1},
                                                 {{0xED, 0xED}, {0x80, 0x9F}, 1},
                                                 {{0xEE, 0xEF}, {0x80, 0xBF}, 1},
                                                 {{0xF0, 0xF0}, {0x90, 0xBF}, 2},
                                                 {{0xF1, 0xF3}, {0x80, 0xBF}, 2},
                                                 {{0xF4, 0xF4}, {0x80, 0x8F}, 2}}};

bool is_plain_ascii(uint8_t byte) {
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// The number of characters of plain text in whole characters; none for any other token.
std::optional<int32_t> plain_length(std::string_view bytes) {
  int32_t count = 0;
  for (size_t i = 0; i < bytes.size(); ++count) {
    const auto lead = static_cast<uint8_t>(bytes[i]);
    if (is_plain_ascii(lead)) {
      ++i;
      continue;
    }
    const auto form = std::ranges::find_if(kUtf8Forms, [lead](const Utf8Form& f) {
      return f.lead.low <= lead && lead <= f.lead.high;
    });
    if (form == kUtf8Forms.end() || i + 2 + static_cast<size_t>(form->more) > bytes.size()) {
      return std::nullopt;
    }
    for (int k = 0; k <= form->more; ++k) {
      const auto byte = static_cast<uint8_t>(bytes[i + 1 + static_cast<size_t>(k)]);
      const ByteRange range = k == 0 ? form->second : ByteRange{0x80, 0xBF};
      if (byte < range.low || byte > range.high) return std::nullopt;
    }
    i += 2 + static_cast<size_t>(form->more);
  }
  return count;
}

size_t group_of(int32_t length) {
  const auto& sizes = GrammarVocabulary::kGroupSizes;
  return static_cast<size_t>(std::ranges::lower_bound(sizes, length) - sizes.begin());
}

// The one state that all bytes of the range lead to from all `states`.
void step_all(Automaton& automaton, const std::vector<Automaton::State>& states, ByteRange range,
              std::vector<Automaton::State>& next) {
  for (const Automaton::State state : states) {
    if (state == Automaton::kDead) {
      next.push_back(state);
      continue;
    }
    const Automaton::Row& row = automaton.row(state);
    next.insert(next.end(), row.begin() + range.low, row.begin() + range.high + 1);
  }
  std::ranges::sort(next);
  next.erase(std::ranges::unique(next).begin(), next.end());
}

// The state behind one plain character, whichever it is; kDead if it depends on the character.
Automaton::State after_plain(Automaton& automaton, Automaton::State state) {
  const Automaton::State target = automaton.row(state)[' '];
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    if (is_plain_ascii(static_cast<uint8_t>(byte)) && automaton.row(state)[byte] != target) {
      return Automaton::kDead;
    }
  }
  for (const Utf8Form& form : kUtf8Forms) {
    std::vector<Automaton::State> states = {state};
    for (int k = 0; k < form.more + 2 && target != Automaton::kDead; ++k) {
      std::vector<Automaton::State> next;
      const ByteRange range = k == 0 ? form.lead : k == 1 ? form.second : ByteRange{0x80, 0xBF};
      step_all(automaton, states, range, next);
      states = std::move(next);
    }
    if (states.size() != 1 || states.front() != target) return Automaton::kDead;
  }
  return target;
}

}  // namespace

int32_t count_plain(Automaton& automaton, Automaton::State state, int32_t limit) {
  for (int32_t count = 0; count < limit; ++count) {
    const Automaton::State next = after_plain(automaton, state);
    if (next == Automaton::kDead) return count;
    if (next == state) return GrammarVocabulary::kGroupSizes.back();
    state = next;
  }
  return limit;
}

namespace {

using Tokens = std::vector<std::pair<std::string_view, int32_t>>;

// The tokens of a group, or with none those of no group.
Tokens tokens_in(const std::vector<std::string>& tokens, std::optional<size_t> group) {
  Tokens result;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    const std::optional<int32_t> length = plain_length(tokens[id]);
    if (length ? group == group_of(*length) : !group) {
      result.emplace_back(tokens[id], static_cast<int32_t>(id));
    }
  }
  return result;
}

}  // namespace

GrammarVocabulary::GrammarVocabulary(std::vector<std::string> tokens, std::vector<int32_t> end_ids)
    : tokens_(std::move(tokens)),
      end_ids_(std::move(end_ids)),
      other_(tokens_in(tokens_, std::nullopt)) {
  std::vector<uint64_t> bits(num_words(), 0);
  for (size_t group = 0; group < kGroupSizes.size(); ++group) {
    const Tokens members = tokens_in(tokens_, group);
    for (const auto& [bytes, id] : members) {
      bits[static_cast<size_t>(id) >> 6] |= uint64_t{1} << (id & 63);
    }
    up_to_.push_back(bits);
    groups_.emplace_back(members);
  }
}

bool GrammarVocabulary::is_end(int32_t token) const {
  return std::ranges::find(end_ids_, token) != end_ids_.end();
}

void GrammarVocabulary::add_allowed(Automaton& automaton, Automaton::State state,
                                    int32_t plain_count, std::vector<uint64_t>& bits) const {
  other_.add_allowed(automaton, state, bits);
  size_t first = 0;  // group that has to be walked
  while (first < kGroupSizes.size() && kGroupSizes[first] <= plain_count) ++first;
  if (first > 0) {
    std::ranges::transform(bits, up_to_[first - 1], bits.begin(), std::bit_or<>());
  }
  for (size_t group = first; group < groups_.size(); ++group) {
    groups_[group].add_allowed(automaton, state, bits);
  }
}

}  // namespace deltaserve
