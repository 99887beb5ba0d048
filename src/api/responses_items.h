// The output items of a /v1/responses answer and their JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deltaserve::responses_api {

enum class ItemKind : uint8_t { kReasoning, kMessage, kFunctionCall };

enum class ItemStatus : uint8_t {
  kInProgress,  // written without text, as the stream announces it
  kCompleted,
  kIncomplete,  // cut at the token limit
};

struct OutputItem {
  ItemKind kind = ItemKind::kMessage;
  ItemStatus status = ItemStatus::kInProgress;
  std::string id;        // "rs_...", "msg_...", "fc_..."
  std::string text;      // of the one content part, or the arguments
  std::string logprobs;  // of a message: JSON objects separated by commas
  std::string call_id;   // of a function call, as is the next
  std::string name;
};

// Named after the answer ("resp_...") and the place in its output, so that an answer and its stream
// need no agreement on ids.
std::string item_id(ItemKind kind, std::string_view response_id, size_t output_index);

// `carry_reasoning`: a whole thought is also written as encrypted_content (responses_input.h).
void append_item(const OutputItem& item, bool carry_reasoning, std::string& out);

// The content part of a message or a thought, with `text` in it and, for a message, `logprobs`.
void append_part(ItemKind kind, std::string_view text, std::string_view logprobs, std::string& out);

}  // namespace deltaserve::responses_api
