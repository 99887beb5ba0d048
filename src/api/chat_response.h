// chat.completion and chat.completion.chunk objects.
#pragma once

#include "api/response_format.h"

namespace deltaserve {

class ChatResponse : public ResponseFormat {
 public:
  ChatResponse(const Tokenizer& tokenizer, const ResponseOptions& options)
      : ResponseFormat(tokenizer, options, "chat.completion", "chat.completion.chunk") {}

  void append_start(int32_t index, const std::vector<int32_t>* prompt_token_ids, const Usage* usage,
                    std::string& out) const override;

 protected:
  void append_chunk_text(const std::string& content, std::string& out) const override;
  void append_chunk_end(std::string& out) const override;
  void append_message(const ChoiceDelta& sum, std::string& out) const override;
  void append_logprobs(const std::vector<LogprobEntry>& entries, std::string& out) const override;
};

}  // namespace deltaserve
