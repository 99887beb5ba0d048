// Rows of the automaton: one derivative for each class of bytes.
#include "grammar/automaton.h"

#include <algorithm>

namespace deltaserve {
namespace {

constexpr size_t kMaxRows = 32'768;  // of 1 KiB

}  // namespace

const Automaton::Row& Automaton::make_row(State state) {
  std::vector<uint8_t> representatives;
  std::array<uint8_t, 256> class_of = {};
  pool_.byte_classes(state, representatives, class_of);
  Row by_class = {};
  for (const uint8_t byte : representatives) {
    const State next = pool_.derive(state, byte);
    by_class[class_of[byte]] = pool_.live(next) ? next : kDead;
  }
  auto row = std::make_unique<Row>();
  for (size_t byte = 0; byte < row->size(); ++byte) (*row)[byte] = by_class[class_of[byte]];
  if (rows_.size() <= state) {
    rows_.resize(pool_.size());
  }
  rows_[state] = std::move(row);
  ++num_rows_;
  return *rows_[state];
}

Automaton::State Automaton::step(State state, std::string_view text) {
  for (const char c : text) state = step(state, static_cast<uint8_t>(c));
  return state;
}

std::optional<uint8_t> Automaton::only_byte(State state) {
  const Row& next = row(state);
  const auto living = [](State s) { return s != kDead; };
  const auto first = std::ranges::find_if(next, living);
  if (first == next.end() || std::any_of(first + 1, next.end(), living)) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(first - next.begin());
}

bool Automaton::ended(State state) {
  if (state == ExprPool::kEmpty || !accepting(state)) {
    return state == ExprPool::kEmpty;
  }
  return std::ranges::all_of(row(state), [](State next) { return next == kDead; });
}

void Automaton::trim() {
  if (num_rows_ > kMaxRows) {
    rows_.clear();
    num_rows_ = 0;
  }
}

}  // namespace deltaserve
