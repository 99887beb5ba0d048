// Chat answers: the first delta of a choice has the role, later ones only what they add.
#include "api/chat_response.h"

#include "api/logprobs_json.h"
#include "json/json.h"

namespace deltaserve {

void ChatResponse::append_start(int32_t index, const std::vector<int32_t>* prompt_token_ids,
                                const Usage* usage, std::string& out) const {
  open_chunk(index, out);
  out += ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"}";
  append_choice_tail({}, nullptr, out);
  if (prompt_token_ids != nullptr) {
    append_token_ids("prompt_token_ids", *prompt_token_ids, out);
  }
  close_chunk(usage, out);
}

void ChatResponse::append_chunk_text(const std::string& content, std::string& out) const {
  out += ",\"delta\":{\"content\":";
  json::append_quoted(content, out);
  out += "}";
}

void ChatResponse::append_chunk_end(std::string& out) const {
  out += ",\"delta\":{}";
}

void ChatResponse::append_message(const ChoiceDelta& sum, std::string& out) const {
  out += ",\"message\":{\"role\":\"assistant\",\"content\":";
  json::append_quoted(sum.content, out);
  out += "}";
}

void ChatResponse::append_logprobs(const std::vector<LogprobEntry>& entries,
                                   std::string& out) const {
  append_chat_logprobs(tokenizer(), entries, out);
}

}  // namespace deltaserve
