// How many prompt tokens a step may take beside decodes, so that streams go on within a given time
// between two tokens. Learnt from how long steps take: a fixed part, as of steps that only decode,
// and a part for each prompt token. Results do not depend on it, only when they come.
#pragma once

#include <cstdint>

namespace deltaserve {

class StepPace {
 public:
  // `target_seconds` between two tokens of a stream; 0: no limit.
  explicit StepPace(double target_seconds) : target_(target_seconds) {}

  // A step took so long; `prompt_tokens` of its tokens were computed in chunks or replayed.
  void record(int64_t prompt_tokens, bool has_decodes, double seconds);

  // At least a chunk; 0: no limit.
  int64_t prompt_tokens() const;

 private:
  double target_;
  double decode_seconds_ = 0.0;        // of a step that only decodes
  double prompt_token_seconds_ = 0.0;  // 0: not known yet
};

}  // namespace deltaserve
