// A /v1/responses request as the body of the chat request that means the same, so that both
// endpoints check, sample and prompt alike.
#pragma once

#include "base/error.h"
#include "json/json.h"

namespace deltaserve::responses_api {

// `logprobs`: the answer shows them. Errors: kInvalidArgument naming the request's own field. What
// the chat request checks anyway is left to it.
Result<json::Object> chat_body(const json::Object& request, bool logprobs);

// An error that chat found in such a body, with the names of the request.
Error in_own_names(Error error);

}  // namespace deltaserve::responses_api
