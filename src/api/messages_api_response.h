// The answer of POST /v1/messages: one message of content blocks (thinking, text, tool_use), whole
// or as Anthropic's named events. Blocks follow each other in the order in which the model wrote.
#pragma once

#include "api/response_format.h"

namespace deltaserve::messages_api {

class MessagesResponse final : public ResponseFormat {
 public:
  // `options` must outlive this. `omit_thinking`: thinking blocks have no text; their signature
  // carries it (messages_api_signature.h).
  MessagesResponse(const ResponseOptions& options, bool omit_thinking)
      : options_(&options), omit_thinking_(omit_thinking) {}

  void start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                    std::string& out) override;
  void append_delta(int32_t index, const ChoiceDelta& delta, const Usage& usage,
                    std::string& out) override;
  void end_choice(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest, const Usage& usage,
                  std::string& out) override;
  void end_stream(const Usage& usage, std::string& out) override;
  void append_error(const Error& error, std::string& out) override;
  // A call that was cut, and so has no object as input, is left out.
  std::string body(const std::vector<CollectedChoice>& choices, const Usage& usage) override;
  std::string error_body(const Error& error) const override;

 private:
  enum class Open : uint8_t { kNothing, kThinking, kText, kToolUse };

  void append_event(const OutputEvent& event, std::string& out);
  void enter(Open kind, std::string& out);
  void open_tool(const OutputEvent& event, std::string& out);
  void close_block(std::string& out);

  const ResponseOptions* options_;
  bool omit_thinking_;
  Open open_ = Open::kNothing;  // the block that the stream is in
  int32_t num_blocks_ = 0;      // closed ones: the index of the open one
  std::string thought_;         // of the open thinking block
};

}  // namespace deltaserve::messages_api
