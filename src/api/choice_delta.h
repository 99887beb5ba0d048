// What one step adds to the visible answer of one choice, and how the choice ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "chat/output_events.h"
#include "engine/request.h"

namespace deltaserve {

struct LogprobEntry {
  int32_t token = 0;
  std::optional<float> logprob;  // none: the first prompt token of an echo
  std::vector<TopLogprob> top;   // descending
  bool visible = true;           // false: the token has no text in the answer (eos, special, tags)
  size_t text_offset = 0;        // characters of the choice's text before the token
  size_t content_begin = 0;      // bytes of the choice's content that are the token's; none of a
  size_t content_end = 0;        // token that is thought, call or layout
};

struct ChoiceDelta {
  std::vector<OutputEvent> events;  // in the order that the model wrote them
  std::vector<LogprobEntry> logprobs;
  std::vector<int32_t> token_ids;  // filled if the response shows them

  bool empty() const { return events.empty() && logprobs.empty() && token_ids.empty(); }

  // Adds `more` behind this; text of one kind that follows itself becomes one event.
  void append(ChoiceDelta more);
};

// Nothing for eos and length, a token of stop_token_ids, or the stop string that was found.
using StopReason = std::variant<std::monostate, int32_t, std::string>;

enum class ChoiceFinish : uint8_t {
  kStop,
  kLength,
  kToolCalls,  // ended by itself with at least one whole call
};

struct ChoiceEnd {
  ChoiceFinish finish = ChoiceFinish::kStop;
  StopReason stop_reason;
};

}  // namespace deltaserve
