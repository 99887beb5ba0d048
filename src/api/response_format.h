// How an answer is written: one implementation for chat completions, one for text completions. SSE
// events are appended to a buffer as "data: {...}\n\n".
#pragma once

#include <string>
#include <vector>

#include "api/choice_delta.h"
#include "api/generation_job.h"
#include "api/usage.h"
#include "text/tokenizer.h"

namespace deltaserve {

// A choice as the non-streamed body shows it: the sum of its deltas.
struct CollectedChoice {
  ChoiceDelta sum;
  ChoiceEnd end;
  const std::vector<int32_t>* prompt_token_ids = nullptr;  // of the prompt it belongs to
};

class ResponseFormat {
 public:
  // Both must outlive this.
  ResponseFormat(const Tokenizer& tokenizer, const ResponseOptions& options, std::string object,
                 std::string chunk_object);
  virtual ~ResponseFormat() = default;
  ResponseFormat(const ResponseFormat&) = delete;
  ResponseFormat& operator=(const ResponseFormat&) = delete;

  // Opens a choice; `prompt_token_ids` is null unless the response shows them. `usage`, here and
  // below, is null unless every chunk carries it.
  virtual void append_start(int32_t index, const std::vector<int32_t>* prompt_token_ids,
                            const Usage* usage, std::string& out) const = 0;
  void append_delta(int32_t index, const ChoiceDelta& delta, const Usage* usage,
                    std::string& out) const;
  // The chunk with finish_reason and an empty delta; `rest` are entries that have no text to go
  // with (of the eos token).
  void append_end(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest, const Usage* usage,
                  std::string& out) const;
  // The chunk without choices that carries usage.
  void append_usage(const Usage& usage, std::string& out) const;
  // The whole answer as one JSON object.
  std::string body(const std::vector<CollectedChoice>& choices, const Usage& usage) const;

 protected:
  // The keys of a chunk's choice that hold a piece of text, or nothing at its end.
  virtual void append_chunk_text(const std::string& content, std::string& out) const = 0;
  virtual void append_chunk_end(std::string& out) const = 0;
  // The keys of a whole choice that hold its text.
  virtual void append_message(const ChoiceDelta& sum, std::string& out) const = 0;
  virtual void append_logprobs(const std::vector<LogprobEntry>& entries,
                               std::string& out) const = 0;

  // `data: {...,"choices":[{"index":i` and from behind the choice's own keys to the blank line.
  void open_chunk(int32_t index, std::string& out) const;
  void close_chunk(const Usage* usage, std::string& out) const;
  // `,"logprobs":...,"finish_reason":...,"stop_reason":...`
  void append_choice_tail(const std::vector<LogprobEntry>& logprobs, const ChoiceEnd* end,
                          std::string& out) const;
  void append_token_ids(const char* key, const std::vector<int32_t>& ids, std::string& out) const;

  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  void append_head(const std::string& object, std::string& out) const;
  void append_body_choice(size_t index, const CollectedChoice& choice, std::string& out) const;

  const Tokenizer* tokenizer_;
  const ResponseOptions* options_;
  std::string object_;
  std::string chunk_object_;
};

// "stop", "length", "abort", "error".
const char* finish_reason_name(FinishReason reason);

}  // namespace deltaserve
