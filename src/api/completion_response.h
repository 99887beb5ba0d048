// text_completion objects; streamed chunks have the same object name.
#pragma once

#include "api/openai_response.h"

namespace deltaserve {

class CompletionResponse : public OpenAiResponse {
 public:
  CompletionResponse(const Tokenizer& tokenizer, const ResponseOptions& options)
      : OpenAiResponse(tokenizer, options, "text_completion", "text_completion") {}

  static std::unique_ptr<ResponseFormat> make(const Tokenizer& tokenizer,
                                              const ResponseOptions& options);

  void start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                    std::string& out) override;

 protected:
  bool append_event(const OutputEvent& event, std::string& out) const override;
  void append_nothing(std::string& out) const override;
  void append_message(const CollectedChoice& choice, std::string& out) const override;
  void append_logprobs(const std::vector<LogprobEntry>& entries, std::string& out) const override;
};

}  // namespace deltaserve
