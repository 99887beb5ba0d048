// What chat completions and text completions have in common: a head with id and model, a list of
// choices, usage, `data:` lines and [DONE].
#pragma once

#include <string>
#include <vector>

#include "api/response_format.h"

namespace deltaserve {

class OpenAiResponse : public ResponseFormat {
 public:
  // Both must outlive this.
  OpenAiResponse(const Tokenizer& tokenizer, const ResponseOptions& options, std::string object,
                 std::string chunk_object);

  void append_delta(int32_t index, const ChoiceDelta& delta, const Usage& usage,
                    std::string& out) override;
  // A chunk of its own with finish_reason and an empty delta.
  void end_choice(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest, const Usage& usage,
                  std::string& out) override;
  void end_stream(const Usage& usage, std::string& out) override;
  void append_error(const Error& error, std::string& out) override;
  std::string body(const std::vector<CollectedChoice>& choices, const Usage& usage) override;
  std::string error_body(const Error& error) const override;

 protected:
  // The keys of a chunk's choice that hold one event; false for an event that shows nothing.
  virtual bool append_event(const OutputEvent& event, std::string& out) const = 0;
  // The same keys with nothing in them.
  virtual void append_nothing(std::string& out) const = 0;
  // The keys of a whole choice that hold its text.
  virtual void append_message(const CollectedChoice& choice, std::string& out) const = 0;
  virtual void append_logprobs(const std::vector<LogprobEntry>& entries,
                               std::string& out) const = 0;
  // Keys behind `usage` in the body.
  virtual void append_body_end(const PromptInfo& prompt, std::string& out) const;

  // `data: {...,"choices":[{"index":i` and from behind the choice's own keys to the blank line.
  void open_chunk(int32_t index, std::string& out) const;
  void close_chunk(const Usage& usage, std::string& out) const;
  // `,"logprobs":...,"finish_reason":...,"stop_reason":...`
  void append_choice_tail(const std::vector<LogprobEntry>& logprobs, const ChoiceEnd* end,
                          std::string& out) const;
  void append_token_ids(const char* key, const std::vector<int32_t>& ids, std::string& out) const;

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ResponseOptions& options() const { return *options_; }

 private:
  void append_head(const std::string& object, std::string& out) const;
  void append_body_choice(size_t index, const CollectedChoice& choice, std::string& out) const;

  const Tokenizer* tokenizer_;
  const ResponseOptions* options_;
  std::string object_;
  std::string chunk_object_;
};

// "stop", "length", "tool_calls".
const char* finish_reason_name(ChoiceFinish finish);

}  // namespace deltaserve
