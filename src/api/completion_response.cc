// Text completions: a choice has `text` where chat has a message.
#include "api/completion_response.h"

#include "api/logprobs_json.h"
#include "json/json.h"

namespace deltaserve {

void CompletionResponse::append_start(int32_t index, const std::vector<int32_t>* prompt_token_ids,
                                      const Usage* usage, std::string& out) const {
  if (prompt_token_ids == nullptr) {
    return;
  }
  open_chunk(index, out);
  out += ",\"text\":\"\"";
  append_choice_tail({}, nullptr, out);
  append_token_ids("prompt_token_ids", *prompt_token_ids, out);
  close_chunk(usage, out);
}

void CompletionResponse::append_chunk_text(const std::string& content, std::string& out) const {
  out += ",\"text\":";
  json::append_quoted(content, out);
}

void CompletionResponse::append_chunk_end(std::string& out) const {
  out += ",\"text\":\"\"";
}

void CompletionResponse::append_message(const ChoiceDelta& sum, std::string& out) const {
  append_chunk_text(sum.content, out);
}

void CompletionResponse::append_logprobs(const std::vector<LogprobEntry>& entries,
                                         std::string& out) const {
  append_completion_logprobs(tokenizer(), entries, out);
}

}  // namespace deltaserve
