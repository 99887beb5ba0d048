// The states of a grammar as they are met: expressions with the row of states that each byte leads
// to. Rows are a cache over the pool's derivatives and are dropped when there are too many.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "grammar/expr.h"

namespace deltaserve {

class Automaton {
 public:
  using State = ExprId;
  using Row = std::array<State, 256>;
  static constexpr State kDead = ExprPool::kNothing;

  // `pool` is closed.
  Automaton(ExprPool pool, ExprId start) : pool_(std::move(pool)), start_(start) {}

  State start() const { return start_; }
  // Valid until the next trim().
  const Row& row(State state) {
    if (state < rows_.size() && rows_[state]) return *rows_[state];
    return make_row(state);
  }
  // Null if it has not been made. Valid until the next trim().
  const Row* known_row(State state) const {
    return state < rows_.size() ? rows_[state].get() : nullptr;
  }
  // One step without making a row.
  State peek(State state, uint8_t byte) {
    const State next = pool_.derive(state, byte);
    return pool_.live(next) ? next : kDead;
  }
  State step(State state, uint8_t byte) { return state == kDead ? kDead : row(state)[byte]; }
  State step(State state, std::string_view text);

  // The one byte that can follow; none if there are more.
  std::optional<uint8_t> only_byte(State state);

  bool accepting(State state) const { return pool_.nullable(state); }
  // Only the empty text is left.
  bool ended(State state);

  // Before each piece of work, such as a token or a mask: what it may need at most, else
  // GrammarTooComplex.
  void begin_work() { pool_.limit_work(kMaxStep); }

  void trim();  // drops the rows if they are too many
  size_t num_states() const { return pool_.size(); }
  size_t memory() const { return pool_.memory() + num_rows_ * sizeof(Row); }  // bytes, about

 private:
  const Row& make_row(State state);

  // Half a second: a step of the engine waits for it.
  static constexpr size_t kMaxStep = size_t{1} << 17;

  ExprPool pool_;
  ExprId start_;
  std::vector<std::unique_ptr<Row>> rows_;  // by state
  size_t num_rows_ = 0;
};

}  // namespace deltaserve
