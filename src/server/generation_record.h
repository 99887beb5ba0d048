// What is known of one generation when it is over: for the log and for /metrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/usage.h"

namespace deltaserve {

enum class GenerationOutcome : uint8_t { kFinished, kAborted, kFailed };

struct GenerationRecord {
  std::string request_id;  // X-Request-Id
  std::string answer_id;   // "chatcmpl-..."
  std::string route;
  GenerationOutcome outcome = GenerationOutcome::kFinished;
  int status = 200;    // 499 if the client left
  std::string reason;  // of an abort or a failure
  bool stream = false;
  int32_t n = 1;
  int32_t num_choices = 1;  // n times the prompts
  int64_t max_tokens = 0;
  Usage usage;
  std::map<std::string, int32_t> finish_reasons;  // choices by reason
  // Seconds; none: it did not come that far.
  std::optional<double> queue;        // in the engine's queue, until first scheduled
  std::optional<double> prefill;      // from there to the first token
  std::optional<double> first_token;  // from the complete request to its first token at the socket
  std::optional<double> inter_token;  // mean over the tokens of a choice after the first
  double total = 0.0;                 // from the complete request to the end
};

}  // namespace deltaserve
