// Whom a failure ends, and with what error: the requests of a broken step, those that wait for a
// picture that could not be encoded, one whose logits are not finite, or all of them.
#include "engine/engine_core.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace deltaserve {
namespace {

Error non_finite_error() {
  return {ErrorCode::kInternal, "the model gave non-finite logits for this request", {}, {}};
}

}  // namespace

void EngineCore::fail_all(const Error& error) {
  for (const auto& [id, request] : requests_) fail_request(*request, error);
  forget_ended();
}

// Ends the requests that wait for pictures whose encoding failed.
void EngineCore::fail_pictures(const std::string& reason) {
  spdlog::error("step {}: pictures could not be encoded: {}", totals_.num_steps, reason);
  const Error error{
      ErrorCode::kInternal, fmt::format("the pictures could not be encoded: {}", reason), {}, {}};
  for (const auto& [id, request] : requests_) {
    const bool is_hit = std::ranges::any_of(request->choices, [](const auto& sequence) {
      return std::ranges::any_of(sequence->pictures().pins, [](const EncodedPin& pin) {
        return pin != nullptr && pin->failed;
      });
    });
    if (is_hit) fail_request(*request, error);
  }
}

// A step that was launched behind this one has none but its sequences: what it computes is left
// without a reader.
void EngineCore::fail_step(EngineStep& step, const std::string& reason) {
  std::vector<Sequence*> involved;
  if (step.is_planned) {
    for (const ScheduledSequence& scheduled : step.plan.sequences) {
      involved.push_back(scheduled.sequence);
    }
  } else {
    // Planning itself broke: all that run were being planned, or else the first that waits.
    involved.assign(scheduler_.running().begin(), scheduler_.running().end());
    if (involved.empty() && scheduler_.first_waiting() != nullptr) {
      involved.push_back(scheduler_.first_waiting());
    }
  }
  spdlog::error("step {} failed and ends {} sequences: {}", totals_.num_steps, involved.size(),
                reason);
  step.plan.snapshots.clear();
  other(step).plan.clear();
  scheduler_.recount_pools();
  const Error error{ErrorCode::kInternal, fmt::format("the step failed: {}", reason), {}, {}};
  for (Sequence* sequence : involved) fail_request(sequence->owner(), error);
}

// What made the logits non-finite may lie in its states: nobody else is to begin with them.
void EngineCore::fail_non_finite(RequestState& request) {
  spdlog::error("step {}: {}", totals_.num_steps, non_finite_error().message);
  for (const auto& sequence : request.choices) cache_.forget(*sequence);
  fail_request(request, non_finite_error());
}

void EngineCore::fail_request(RequestState& request, const Error& error) {
  for (const auto& sequence : request.choices) {
    if (sequence->status() == SequenceStatus::kFinished) continue;
    output_of(*sequence).error = error;
    end_choice(*sequence, FinishReason::kError);
  }
}

}  // namespace deltaserve
