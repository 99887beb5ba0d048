// Text completions: a choice has `text` where chat has a message. Raw text has content events only.
#include "api/completion_response.h"

#include "api/logprobs_json.h"
#include "base/check.h"
#include "json/json.h"

namespace deltaserve {

std::unique_ptr<ResponseFormat> CompletionResponse::make(const Tokenizer& tokenizer,
                                                         const ResponseOptions& options) {
  return std::make_unique<CompletionResponse>(tokenizer, options);
}

void CompletionResponse::start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                                      std::string& out) {
  if (!options().return_token_ids) {
    return;
  }
  open_chunk(index, out);
  append_nothing(out);
  append_choice_tail({}, nullptr, out);
  append_token_ids("prompt_token_ids", prompt.token_ids, out);
  close_chunk(usage, out);
}

bool CompletionResponse::append_event(const OutputEvent& event, std::string& out) const {
  DS_CHECK(event.kind == OutputEvent::Kind::kContent);
  out += ",\"text\":";
  json::append_quoted(event.text, out);
  return true;
}

void CompletionResponse::append_nothing(std::string& out) const {
  out += ",\"text\":\"\"";
}

void CompletionResponse::append_message(const CollectedChoice& choice, std::string& out) const {
  if (choice.sum.events.empty()) {
    append_nothing(out);
    return;
  }
  append_event(choice.sum.events.front(), out);
}

void CompletionResponse::append_logprobs(const std::vector<LogprobEntry>& entries,
                                         std::string& out) const {
  append_completion_logprobs(tokenizer(), entries, out);
}

}  // namespace deltaserve
