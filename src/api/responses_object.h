// The response object of /v1/responses: the body of an answer, and the snapshots in its stream.
#pragma once

#include <string>
#include <vector>

#include "api/generation_job.h"
#include "api/responses_items.h"
#include "api/responses_settings.h"
#include "api/usage.h"
#include "base/error.h"

namespace deltaserve::responses_api {

enum class ResponseStatus : uint8_t {
  kInProgress,
  kCompleted,
  kIncomplete,  // the token limit cut it
  kFailed,
};

struct ResponseSnapshot {
  ResponseStatus status = ResponseStatus::kInProgress;
  const std::vector<OutputItem>* output = nullptr;  // null: none yet
  const Usage* usage = nullptr;                     // null: not known yet
  const Error* error = nullptr;                     // with kFailed
  int64_t completed_at = 0;                         // unix seconds, with kCompleted
};

void append_response(const ResponseOptions& options, const Settings& settings,
                     const ResponseSnapshot& snapshot, std::string& out);

}  // namespace deltaserve::responses_api
