// How much of prompts a step may take beside decodes, so that streams go on within a given time
// between two tokens. A step's time is predicted (StepCost), and the target is divided by how far
// recent steps beside decodes went beyond their predictions. Results do not depend on it, only when
// they come.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/step_cost.h"

namespace deltaserve {

class StepPace {
 public:
  // `target_seconds` between two tokens of a stream; 0: no limit.
  explicit StepPace(double target_seconds);

  // A step took so long.
  void record(const StepWork& work, double seconds);

  // For the prompts of a step with these decodes.
  PromptAllowance allowance(const StepWork& decodes) const;

 private:
  double margin() const;

  double target_;
  StepCost cost_;
  double most_prompt_tokens_ = 0.0;  // of a step so far
  std::vector<double> excesses_;     // time over prediction of the last steps with both, a ring
  size_t num_excesses_ = 0;          // so far
};

}  // namespace deltaserve
