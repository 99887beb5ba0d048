// Groups of plain tokens, and how far plain text may go on from a state.
#include "grammar/grammar_vocabulary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
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

// Bytes of the plain character that begins at `bytes`; 0 if none does.
size_t plain_character(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes.front());
  if (is_plain_ascii(lead)) return 1;
  const auto form = std::ranges::find_if(
      kUtf8Forms, [lead](const Utf8Form& f) { return f.lead.low <= lead && lead <= f.lead.high; });
  if (form == kUtf8Forms.end()) return 0;
  const size_t size = 2 + static_cast<size_t>(form->more);
  for (size_t i = 1; i < size; ++i) {
    const ByteRange range = i == 1 ? form->second : ByteRange{0x80, 0xBF};
    const auto byte = i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0};
    if (byte < range.low || byte > range.high) return 0;
  }
  return size;
}

struct PlainStart {
  int32_t count = 0;  // characters
  size_t size = 0;    // bytes
};

PlainStart plain_start(std::string_view bytes) {
  PlainStart start;
  while (start.size < bytes.size()) {
    const size_t size = plain_character(bytes.substr(start.size));
    if (size == 0) break;
    start.size += size;
    ++start.count;
  }
  return start;
}

// Longer runs are not followed: few tokens have more plain characters than this.
constexpr int32_t kMaxRun = 32;

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

bool any_plain(const Automaton::Row& row) {
  for (unsigned byte = 0x20; byte < 0xF8; ++byte) {
    const bool begins = byte < 0x80 ? is_plain_ascii(static_cast<uint8_t>(byte)) : byte >= 0xC2;
    if (begins && row[byte] != Automaton::kDead) return true;
  }
  return false;
}

using Tokens = std::vector<std::pair<std::string_view, int32_t>>;

void set_bit(std::vector<uint64_t>& bits, int32_t id) {
  bits[static_cast<size_t>(id) >> 6] |= uint64_t{1} << (id & 63);
}

}  // namespace

PlainRun plain_run(Automaton& automaton, Automaton::State state) {
  for (int32_t count = 0; count < kMaxRun; ++count) {
    const Automaton::State next = after_plain(automaton, state);
    if (next == Automaton::kDead) return {count, !any_plain(automaton.row(state))};
    if (next == state) return {PlainRun::kEndless, false};
    state = next;
  }
  return {kMaxRun, false};
}

GrammarVocabulary::GrammarVocabulary(std::vector<std::string> tokens, std::vector<int32_t> end_ids,
                                     Encode encode)
    : tokens_(std::move(tokens)),
      end_ids_(std::move(end_ids)),
      encode_(std::move(encode)),
      up_to_(kMaxRun + 2, std::vector<uint64_t>(num_words(), 0)) {
  Tokens all;
  Tokens other;
  Tokens beyond;
  std::map<std::string_view, size_t> endings;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = tokens_[i];
    if (bytes.empty()) continue;
    const auto id = static_cast<int32_t>(i);
    all.emplace_back(bytes, id);
    const PlainStart start = plain_start(bytes);
    if (start.size == bytes.size()) {
      if (start.count > kMaxRun) beyond.emplace_back(bytes, id);
      set_bit(up_to_[static_cast<size_t>(std::min(start.count, kMaxRun + 1))], id);
      continue;
    }
    other.emplace_back(bytes, id);
    const auto [ending, is_new] = endings.emplace(bytes.substr(start.size), ending_tokens_.size());
    if (is_new) ending_tokens_.emplace_back();
    ending_tokens_[ending->second].push_back(id);
  }
  for (size_t count = 1; count < up_to_.size(); ++count) {
    std::ranges::transform(up_to_[count], up_to_[count - 1], up_to_[count].begin(), std::bit_or());
  }
  all_ = TokenTrie(std::move(all));
  other_ = TokenTrie(std::move(other));
  beyond_ = TokenTrie(std::move(beyond));
  Tokens distinct;
  for (const auto& [bytes, index] : endings) {
    distinct.emplace_back(bytes, static_cast<int32_t>(index));
  }
  endings_ = TokenTrie(std::move(distinct));
}

bool GrammarVocabulary::is_end(int32_t token) const {
  return std::ranges::find(end_ids_, token) != end_ids_.end();
}

void GrammarVocabulary::add_allowed(Automaton& automaton, Automaton::State state,
                                    std::vector<uint64_t>& bits) const {
  const PlainRun run = plain_run(automaton, state);
  const auto set = [&bits](int32_t id) { set_bit(bits, id); };
  if (!run.closed && run.count < kMaxRun) {
    all_.walk(automaton, state, set);
    return;
  }
  const auto whole = static_cast<size_t>(std::min(run.count, kMaxRun + 1));
  std::ranges::transform(bits, up_to_[whole], bits.begin(), std::bit_or());
  if (run.count == PlainRun::kEndless) {
    endings_.walk(automaton, state, [&](int32_t ending) {
      std::ranges::for_each(ending_tokens_[static_cast<size_t>(ending)], set);
    });
    return;
  }
  if (!run.closed) beyond_.walk(automaton, state, set);
  other_.walk(automaton, state, set);
}

}  // namespace deltaserve
