// How long a step takes, learnt from steps: a fixed part and a part for each thing in StepWork,
// none of them negative. Steps of one kind (as many decodes, prompt tokens and tokens before them,
// to a factor of two) are kept as one average. A kind counts less the longer it was not seen, but
// never nothing: what short prompts cost is still known when a long one has been read for minutes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/step_work.h"

namespace deltaserve {

class StepCost {
 public:
  void record(const StepWork& work, double seconds);
  bool knows_prompts() const { return knows_prompts_; }

  double predict(const StepWork& work) const;
  double token_seconds() const { return weights_[3]; }
  double pair_seconds() const { return weights_[4]; }

 private:
  static constexpr size_t kTerms = 5;
  using Terms = std::array<double, kTerms>;
  struct Kind {
    std::array<int, 3> name{};  // powers of two
    Terms terms{};              // averages
    double seconds = 0.0;
    uint64_t last_step = 0;
  };

  static Terms terms_of(const StepWork& work);
  Kind& kind_of(const StepWork& work);
  void fit();

  std::vector<Kind> kinds_;
  Terms weights_{};  // seconds for one of each term
  uint64_t num_steps_ = 0;
  bool knows_prompts_ = false;
};

}  // namespace deltaserve
