#include "ops/held_draws.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace deltaserve {

void HeldDraws::begin(SampleArgs args, const std::function<void(const SampleArgs&)>& sample) {
  DS_CHECK(open_.size() < kMaxOpenDraws, "too many draws are open");
  const std::vector<SamplingRow> rows = with_last(args);
  args.rows = rows.data();
  std::vector<SampledToken> drawn(static_cast<size_t>(args.B));
  args.out = drawn.data();
  sample(args);
  last_.clear();
  for (const SampledToken& token : drawn) last_.push_back(token.token);
  open_.push_back(std::move(drawn));
}

// The rows with the tokens counted that the draw before drew.
std::vector<SamplingRow> HeldDraws::with_last(const SampleArgs& args) {
  std::vector<SamplingRow> rows(args.rows, args.rows + args.B);
  counts_.clear();
  counts_.reserve(rows.size());
  for (SamplingRow& row : rows) {
    if (row.drawn_row < 0) continue;
    counts_.push_back(count_once_more(row, last_.at(static_cast<size_t>(row.drawn_row))));
    row.counts = counts_.back().data();
    row.num_counts = static_cast<int32_t>(counts_.back().size());
    row.drawn_row = -1;
  }
  return rows;
}

void HeldDraws::end(std::span<SampledToken> out) {
  DS_CHECK(!open_.empty() && open_.front().size() == out.size());
  std::ranges::move(open_.front(), out.begin());
  open_.pop_front();
}

void HeldDraws::take(const TakeDrawnArgs& args) const {
  for (int64_t t = 0; t < args.T; ++t) {
    if (args.rows[t] < 0) continue;
    DS_CHECK(static_cast<size_t>(args.rows[t]) < last_.size());
    args.ids[t] = std::max(0, last_[static_cast<size_t>(args.rows[t])]);
  }
}

}  // namespace deltaserve
