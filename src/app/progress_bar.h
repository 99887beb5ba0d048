// A progress bar on stderr while it is a terminal; silent otherwise, so that logs stay clean.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace deltaserve {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();  // ends the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at most ten times a second, and the first and the last state always.
  void update(int64_t done, int64_t total);

 private:
  std::string label_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace deltaserve
