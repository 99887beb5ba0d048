// Joins deltas.
#include "api/choice_delta.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deltaserve {
namespace {

bool continues(const OutputEvent& last, const OutputEvent& next) {
  const bool has_text = next.kind == OutputEvent::Kind::kReasoning ||
                        next.kind == OutputEvent::Kind::kContent ||
                        next.kind == OutputEvent::Kind::kArguments;
  return has_text && last.kind == next.kind && last.index == next.index;
}

}  // namespace

void ChoiceDelta::append(ChoiceDelta more) {
  for (OutputEvent& event : more.events) {
    if (!events.empty() && continues(events.back(), event)) {
      events.back().text += event.text;
    } else {
      events.push_back(std::move(event));
    }
  }
  std::ranges::move(more.logprobs, std::back_inserter(logprobs));
  std::ranges::copy(more.token_ids, std::back_inserter(token_ids));
}

}  // namespace deltaserve
