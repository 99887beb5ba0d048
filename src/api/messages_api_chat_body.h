// An Anthropic request (POST /v1/messages and /v1/messages/count_tokens) as the body of a chat
// request, so that one set of rules makes the prompt and reads sampling fields for both.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::messages_api {

struct ChatBody {
  json::Object fields;
  std::vector<std::string> stop_sequences;  // not in `fields`: chat allows fewer
  bool omit_thinking = false;               // thinking.display is "omitted"
};

// Checks everything that only this protocol has; `max_tokens` may be missing. A last assistant
// message is continued. Errors: kInvalidArgument naming the client's own field.
Result<ChatBody> chat_body(const json::Object& request);

// An error about `fields` that chat reported, with the client's names instead of chat's.
Error in_client_terms(Error error);

}  // namespace deltaserve::messages_api
