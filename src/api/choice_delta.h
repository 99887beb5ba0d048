// What one step adds to the visible answer of one choice, and how the choice ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/request.h"

namespace deltaserve {

struct LogprobEntry {
  int32_t token = 0;
  std::optional<float> logprob;  // none: the first prompt token of an echo
  std::vector<TopLogprob> top;   // descending
  bool visible = true;           // false: the token has no text in the answer (eos, special)
  size_t text_offset = 0;        // characters of the choice's text before the token
};

struct ChoiceDelta {
  std::string content;
  std::vector<LogprobEntry> logprobs;
  std::vector<int32_t> token_ids;  // filled if the response shows them

  bool empty() const { return content.empty() && logprobs.empty() && token_ids.empty(); }
};

// Nothing for eos and length, a token of stop_token_ids, or the stop string that was found.
using StopReason = std::variant<std::monostate, int32_t, std::string>;

struct ChoiceEnd {
  FinishReason finish_reason = FinishReason::kStop;
  StopReason stop_reason;
};

}  // namespace deltaserve
