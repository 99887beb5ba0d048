// Runs are found by what the items need, not by where placeholders end: two pictures may stand side
// by side.
#include "model/prompt_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace deltaserve {
namespace {

std::unexpected<Error> mismatch(std::string message) {
  return invalid("the prompt's placeholders do not match its pictures: " + std::move(message),
                 "prompt");
}

// Position of the text token behind a run.
int32_t position_behind(const VisionRun& run) {
  return run.position + std::max(run.height, run.width);
}

// The runs of one item from placeholder `begin` on are appended; returns the token behind them.
class RunFinder {
 public:
  RunFinder(std::span<const int32_t> token_ids, const PlaceholderIds& ids)
      : token_ids_(token_ids), ids_(ids) {}

  Result<void> add_item(const VisionItem& item, int32_t index) {
    const int32_t id = item.is_video ? ids_.video : ids_.image;
    const int32_t merge = item.merge_size;
    for (int32_t frame = 0; frame < item.grid_t; ++frame) {
      if (!next_placeholder()) {
        return mismatch(fmt::format("picture or video {} has no placeholder left", index + 1));
      }
      VisionRun run;
      run.begin = at_;
      run.height = item.grid_h / merge;
      run.width = item.grid_w / merge;
      run.item = index;
      run.first_row = frame * run.count();
      run.position = text_position(at_);
      const auto count = static_cast<size_t>(run.count());
      const auto rest = token_ids_.subspan(static_cast<size_t>(at_));
      const auto found = static_cast<size_t>(
          std::ranges::find_if(rest, [id](int32_t token) { return token != id; }) - rest.begin());
      if (found < count) {
        return mismatch(
            fmt::format("picture or video {} needs {} in a row from token {} on, and "
                        "there are {}",
                        index + 1, count, at_, found));
      }
      runs_.push_back(run);
      at_ += static_cast<int64_t>(count);
    }
    return {};
  }

  bool next_placeholder() {
    const auto size = static_cast<int64_t>(token_ids_.size());
    while (at_ < size && !is_placeholder(token_ids_[static_cast<size_t>(at_)])) ++at_;
    return at_ < size;
  }

  int64_t at() const { return at_; }
  std::vector<VisionRun> take() { return std::move(runs_); }

 private:
  bool is_placeholder(int32_t token) const { return token == ids_.image || token == ids_.video; }
  int32_t text_position(int64_t i) const {
    if (runs_.empty()) return static_cast<int32_t>(i);
    return position_behind(runs_.back()) + static_cast<int32_t>(i - runs_.back().end());
  }

  std::span<const int32_t> token_ids_;
  PlaceholderIds ids_;
  std::vector<VisionRun> runs_;
  int64_t at_ = 0;
};

}  // namespace

Result<PromptLayout> PromptLayout::make(std::span<const int32_t> token_ids,
                                        std::span<const std::shared_ptr<const VisionItem>> items,
                                        const PlaceholderIds& ids) {
  PromptLayout layout;
  if (ids.image < 0 && ids.video < 0) {
    if (!items.empty()) return invalid("this model takes text only, no pictures", "messages");
    return layout;
  }
  RunFinder finder(token_ids, ids);
  for (size_t i = 0; i < items.size(); ++i) {
    if (Result<void> added = finder.add_item(*items[i], static_cast<int32_t>(i)); !added) {
      return std::unexpected(added.error());
    }
  }
  if (finder.next_placeholder()) {
    return mismatch(fmt::format("token {} is one that no picture fills", finder.at()));
  }
  layout.runs_ = finder.take();
  return layout;
}

std::array<int32_t, 3> PromptLayout::position(int64_t i) const {
  const auto behind = std::ranges::upper_bound(runs_, i, {}, &VisionRun::begin);
  if (behind == runs_.begin()) {
    const auto text = static_cast<int32_t>(i);
    return {text, text, text};
  }
  const VisionRun& run = *(behind - 1);
  if (i < run.end()) {
    const auto offset = static_cast<int32_t>(i - run.begin);
    return {run.position, run.position + offset / run.width, run.position + offset % run.width};
  }
  const int32_t text = position_behind(run) + static_cast<int32_t>(i - run.end());
  return {text, text, text};
}

}  // namespace deltaserve
