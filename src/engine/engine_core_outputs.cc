// The ends of choices and requests, and the outputs that a step collects.
#include "engine/engine_core.h"

#include <algorithm>
#include <utility>

namespace deltaserve {

void EngineCore::end_choice(Sequence& sequence, FinishReason reason) {
  if (reason != FinishReason::kError) cache_.remember(sequence);
  scheduler_.remove(sequence);
  sequence.finish();
  count_finish(reason);
  output_of(sequence).finish_reason = reason;
  RequestState& request = sequence.owner();
  if (--request.num_unfinished > 0) return;
  output_of(request).finished = true;
  ended_.push_back({.id = request.id, .last_step = num_planned_});
}

void EngineCore::count_finish(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      ++totals_.requests_stop;
      break;
    case FinishReason::kLength:
      ++totals_.requests_length;
      break;
    case FinishReason::kAbort:
      ++totals_.requests_abort;
      break;
    case FinishReason::kError:
      ++totals_.requests_error;
      break;
  }
}

void EngineCore::forget_ended() {
  std::erase_if(ended_, [this](const Ended& ended) {
    if (ended.last_step > num_committed_) return false;
    requests_.erase(ended.id);
    return true;
  });
}

RequestOutput& EngineCore::output_of(RequestState& request) {
  if (request.output_round == output_round_) return outputs_[request.output_index];
  request.output_round = output_round_;
  request.output_index = outputs_.size();
  RequestOutput& output = outputs_.emplace_back();
  output.id = request.id;
  output.num_prompt_tokens = static_cast<int64_t>(request.request.prompt_token_ids.size());
  output.num_cached_tokens = request.num_cached_tokens.value_or(0);
  output.times = request.times;
  return output;
}

ChoiceOutput& EngineCore::output_of(Sequence& sequence) {
  std::vector<ChoiceOutput>& choices = output_of(sequence.owner()).choices;
  const auto found = std::ranges::find(choices, sequence.index(), &ChoiceOutput::index);
  if (found != choices.end()) return *found;
  ChoiceOutput& output = choices.emplace_back();
  output.index = sequence.index();
  return output;
}

std::vector<RequestOutput> EngineCore::take_outputs() {
  ++output_round_;
  return std::exchange(outputs_, {});
}

}  // namespace deltaserve
