// What changes from snapshot to snapshot first, then what repeats the request.
#include "api/responses_object.h"

#include <fmt/format.h>

#include <iterator>

#include "json/json.h"

namespace deltaserve::responses_api {
namespace {

const char* status_name(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kInProgress:
      return "in_progress";
    case ResponseStatus::kCompleted:
      return "completed";
    case ResponseStatus::kIncomplete:
      return "incomplete";
    case ResponseStatus::kFailed:
      return "failed";
  }
  return "failed";
}

void append_error(const Error* error, std::string& out) {
  out += ",\"error\":";
  if (error == nullptr) {
    out += "null";
    return;
  }
  out += error->code == ErrorCode::kTooManyRequests ? "{\"code\":\"rate_limit_exceeded\""
                                                    : "{\"code\":\"server_error\"";
  out += ",\"message\":";
  json::append_quoted(error->message, out);
  out += '}';
}

void append_output(const ResponseSnapshot& snapshot, bool carry_reasoning, std::string& out) {
  out += ",\"output\":[";
  if (snapshot.output != nullptr) {
    for (size_t i = 0; i < snapshot.output->size(); ++i) {
      out += i == 0 ? "" : ",";
      append_item((*snapshot.output)[i], carry_reasoning, out);
    }
  }
  out += ']';
}

// Nothing is ever charged for what the prefix cache keeps: cache_write_tokens.
void append_usage(const Usage* usage, std::string& out) {
  out += ",\"usage\":";
  if (usage == nullptr) {
    out += "null";
    return;
  }
  fmt::format_to(std::back_inserter(out),
                 "{{\"input_tokens\":{},\"input_tokens_details\":{{\"cached_tokens\":{},"
                 "\"cache_write_tokens\":0}},\"output_tokens\":{},\"output_tokens_details\":{{"
                 "\"reasoning_tokens\":{}}},\"total_tokens\":{}}}",
                 usage->prompt_tokens, usage->cached_tokens, usage->completion_tokens,
                 usage->reasoning_tokens, usage->prompt_tokens + usage->completion_tokens);
}

}  // namespace

void append_response(const ResponseOptions& options, const Settings& settings,
                     const ResponseSnapshot& snapshot, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "{{\"id\":\"{}\",\"object\":\"response\",\"created_at\":{},\"status\":\"{}\"",
                 options.id, options.created, status_name(snapshot.status));
  if (snapshot.status == ResponseStatus::kCompleted) {
    fmt::format_to(std::back_inserter(out), ",\"completed_at\":{}", snapshot.completed_at);
  } else {
    out += ",\"completed_at\":null";
  }
  append_error(snapshot.error, out);
  out += snapshot.status == ResponseStatus::kIncomplete
             ? ",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"
             : ",\"incomplete_details\":null";
  out += ",\"model\":";
  json::append_quoted(options.model, out);
  append_output(snapshot, settings.carry_reasoning, out);
  append_usage(snapshot.usage, out);
  out += ',';
  out += settings.repeated;
  out += '}';
}

}  // namespace deltaserve::responses_api
