// How the answer to one generation request is written: one implementation a protocol, one object an
// answer. A protocol may number its events or keep a choice open between calls, so the calls come
// in a fixed order: start_choice, append_delta any number of times, end_choice for each choice (the
// choices of an answer interleaved), then end_stream once; append_error may take the place of all
// that is left. An answer that is not streamed is written by body() alone. Methods that take `out`
// append whole server-sent events to it. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/choice_delta.h"
#include "api/generation_job.h"
#include "api/usage.h"
#include "base/error.h"
#include "text/tokenizer.h"

namespace deltaserve {

// A choice as the whole body shows it: the sum of its deltas.
struct CollectedChoice {
  ChoiceDelta sum;
  ChoiceEnd end;
  const PromptInfo* prompt = nullptr;  // that it belongs to
};

class ResponseFormat {
 public:
  ResponseFormat() = default;
  virtual ~ResponseFormat() = default;
  ResponseFormat(const ResponseFormat&) = delete;
  ResponseFormat& operator=(const ResponseFormat&) = delete;

  // `usage`, here and below, is the answer's so far; prompt and cached tokens are known.
  virtual void start_choice(int32_t index, const PromptInfo& prompt, const Usage& usage,
                            std::string& out) = 0;

  // `delta` is never empty, but may have no events (logprobs or token ids whose text is held back).
  virtual void append_delta(int32_t index, const ChoiceDelta& delta, const Usage& usage,
                            std::string& out) = 0;

  // `rest` has no events: entries without text of their own (of the eos token).
  virtual void end_choice(int32_t index, const ChoiceEnd& end, const ChoiceDelta& rest,
                          const Usage& usage, std::string& out) = 0;

  // All choices have ended: usage if it is asked for, and what ends a stream.
  virtual void end_stream(const Usage& usage, std::string& out) = 0;

  // Ends a stream that has begun and failed.
  virtual void append_error(const Error& error, std::string& out) = 0;

  // The whole answer as one JSON object, choices by index.
  virtual std::string body(const std::vector<CollectedChoice>& choices, const Usage& usage) = 0;

  // The JSON body of a failure before anything was sent.
  virtual std::string error_body(const Error& error) const = 0;
};

}  // namespace deltaserve
