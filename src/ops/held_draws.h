// begin_sample, end_sample and take_drawn of a backend that draws while it is called: a draw that
// has begun is done, and its results are held until it ends.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "ops/sampling.h"

namespace deltaserve {

class HeldDraws {
 public:
  // `sample` is Backend::sample.
  void begin(SampleArgs args, const std::function<void(const SampleArgs&)>& sample);
  void end(std::span<SampledToken> out);
  void take(const TakeDrawnArgs& args) const;

 private:
  std::vector<SamplingRow> with_last(const SampleArgs& args);

  std::deque<std::vector<SampledToken>> open_;
  std::vector<int32_t> last_;                    // tokens of the draw begun last
  std::vector<std::vector<TokenCount>> counts_;  // of rows that count one of them
};

}  // namespace deltaserve
