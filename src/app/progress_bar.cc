// Drawing of the progress bar: one line, rewritten in place.
#include "app/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace deltaserve {

namespace {
constexpr int64_t kWidth = 32;  // cells of the bar: leaves room for the label in 80 columns
constexpr std::chrono::milliseconds kInterval{100};
}  // namespace

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputc('\n', stderr);
}

void ProgressBar::update(int64_t done, int64_t total) {
  if (!terminal_ || total <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && done < total && now - last_ < kInterval) return;
  const int64_t cells = done * kWidth / total;
  fmt::print(stderr, "\r{} [{:#<{}}{:.<{}}] {:3d}%", label_, "", cells, "", kWidth - cells,
             done * 100 / total);
  std::fflush(stderr);
  drawn_ = true;
  last_ = now;
}

}  // namespace deltaserve
