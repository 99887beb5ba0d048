// LogprobQueue: see the header for the two measures.
#include "api/logprob_queue.h"

#include <algorithm>
#include <utility>

namespace deltaserve {

void LogprobQueue::add(LogprobEntry entry, size_t begin, std::optional<size_t> end) {
  Pending pending;
  pending.entry = std::move(entry);
  pending.begin = begin;
  pending.end = end;
  pending_.push_back(std::move(pending));
}

void LogprobQueue::complete_character(size_t end) {
  for (auto entry = pending_.rbegin(); entry != pending_.rend() && !entry->end; ++entry) {
    entry->end = end;
  }
}

// Content grows at its end, byte by byte with the input where the input is content; so an offset
// lies as far before the end of one as before the end of the other.
void LogprobQueue::settle(size_t settled, size_t content) {
  const auto to_content = [&](size_t input) {
    const size_t before_end = settled - std::min(settled, input);
    return std::max(content_, content - std::min(content, before_end));
  };
  while (num_settled_ < pending_.size()) {
    Pending& next = pending_[num_settled_];
    if (!next.end || *next.end > settled) {
      break;
    }
    next.entry.content_begin = to_content(next.begin);
    next.entry.content_end = to_content(*next.end);
    ++num_settled_;
  }
  content_ = content;
}

void LogprobQueue::release(size_t sent, std::vector<LogprobEntry>& out) {
  while (num_settled_ > 0 && pending_.front().entry.content_end <= sent) {
    out.push_back(std::move(pending_.front().entry));
    pending_.pop_front();
    --num_settled_;
  }
}

void LogprobQueue::release_all(std::vector<LogprobEntry>& out) {
  for (Pending& pending : pending_) {
    out.push_back(std::move(pending.entry));
  }
  pending_.clear();
  num_settled_ = 0;
}

void LogprobQueue::cut(size_t sent, std::vector<LogprobEntry>& out) {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const LogprobEntry& entry = pending_[i].entry;
    const bool empty = i < num_settled_ ? entry.content_begin == entry.content_end
                                        : pending_[i].begin == pending_[i].end;
    const bool behind = i >= num_settled_ || entry.content_begin >= sent;
    if (empty || !behind) {
      out.push_back(std::move(pending_[i].entry));
    }
  }
  pending_.clear();
  num_settled_ = 0;
}

}  // namespace deltaserve
