// Least squares of relative errors under the constraint that no weight is negative, by coordinate
// descent over the normal equations: five terms take some microseconds.
#include "engine/step_cost.h"

#include <algorithm>
#include <cmath>

namespace deltaserve {
namespace {

constexpr size_t kMostKinds = 96;  // beyond, the one that was not seen for longest gives way

// Weight of the newest step in its kind's average.
constexpr double kNewest = 0.2;

// Steps in which what a kind counts falls to half, and the least that it counts.
constexpr double kHalfLife = 32.0;
constexpr double kLeastWeight = 0.02;

// Sweeps at most. They begin at the weights of the step before, so that few move them by more than
// kSettled of themselves.
constexpr int kSweeps = 100;
constexpr double kSettled = 1e-6;

// Of terms that the steps do not tell apart, a share that keeps either from taking all.
constexpr double kRidge = 1e-6;

int magnitude(double value) {
  return value < 1.0 ? 0 : 1 + std::ilogb(value);
}

}  // namespace

StepCost::Terms StepCost::terms_of(const StepWork& work) {
  return {1.0, work.decodes, work.decode_context, work.prompt_tokens, work.prompt_pairs};
}

StepCost::Kind& StepCost::kind_of(const StepWork& work) {
  const double tokens = std::max(1.0, work.prompt_tokens);
  const std::array<int, 3> name = {magnitude(work.decodes), magnitude(work.prompt_tokens),
                                   magnitude(work.prompt_pairs / tokens)};
  const auto known = std::ranges::find(kinds_, name, &Kind::name);
  if (known != kinds_.end()) return *known;
  if (kinds_.size() >= kMostKinds)
    kinds_.erase(std::ranges::min_element(kinds_, {}, &Kind::last_step));
  kinds_.push_back({.name = name, .terms = {}, .seconds = 0.0, .last_step = 0});
  return kinds_.back();
}

void StepCost::record(const StepWork& work, double seconds) {
  Kind& kind = kind_of(work);
  const Terms terms = terms_of(work);
  const double share = kind.last_step == 0 ? 1.0 : kNewest;
  for (size_t i = 0; i < kTerms; ++i) kind.terms[i] += share * (terms[i] - kind.terms[i]);
  kind.seconds += share * (seconds - kind.seconds);
  kind.last_step = ++num_steps_;
  knows_prompts_ = knows_prompts_ || work.prompt_tokens > 0.0;
  fit();
}

void StepCost::fit() {
  std::array<Terms, kTerms> normal{};
  Terms right{};
  for (const Kind& kind : kinds_) {
    const auto age = static_cast<double>(num_steps_ - kind.last_step);
    const double weight = std::max(kLeastWeight, std::exp2(-age / kHalfLife));
    const double scale = 1.0 / std::max(kind.seconds, 1e-9);
    for (size_t i = 0; i < kTerms; ++i) {
      const double term = weight * kind.terms[i] * scale;
      for (size_t j = 0; j < kTerms; ++j) normal[i][j] += term * kind.terms[j] * scale;
      right[i] += term;
    }
  }
  bool settled = false;
  for (int sweep = 0; sweep < kSweeps && !settled; ++sweep) {
    settled = true;
    for (size_t i = 0; i < kTerms; ++i) {
      const double diagonal = normal[i][i] * (1.0 + kRidge);
      if (diagonal == 0.0) continue;
      double rest = right[i];
      for (size_t j = 0; j < kTerms; ++j) {
        if (j != i) rest -= normal[i][j] * weights_[j];
      }
      const double weight = std::max(0.0, rest / diagonal);
      settled = settled && std::abs(weight - weights_[i]) <= kSettled * weight;
      weights_[i] = weight;
    }
  }
}

double StepCost::predict(const StepWork& work) const {
  const Terms terms = terms_of(work);
  double seconds = 0.0;
  for (size_t i = 0; i < kTerms; ++i) seconds += weights_[i] * terms[i];
  return seconds;
}

}  // namespace deltaserve
