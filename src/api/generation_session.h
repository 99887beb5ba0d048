// The answer to one generation request while it is being made: engine outputs go in, SSE events or
// at the end one JSON body come out. Both are made of the same deltas, so the body is the
// concatenation of the stream. Not thread-safe: used on one io thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/choice_stream.h"
#include "api/generation_job.h"
#include "api/response_format.h"
#include "api/serving_context.h"
#include "api/usage.h"

namespace deltaserve {

class GenerationSession {
 public:
  GenerationSession(std::shared_ptr<const ServingContext> context, ResponseOptions options,
                    std::vector<PromptInfo> prompts);

  struct Progress {
    std::vector<int32_t> stopped_choices;  // the engine does not know yet: abort them
    std::optional<Error> error;            // the whole answer has failed
  };

  // An output of the engine request for prompt `prompt_index`. Streaming appends events to `out`.
  Progress on_output(size_t prompt_index, const RequestOutput& output, std::string& out);

  // All choices of all prompts have ended.
  bool finished() const { return num_open_ == 0; }
  // Once finished: usage if asked for, and what ends a stream in its protocol.
  void append_stream_end(std::string& out);
  // Ends a stream that has failed.
  void append_stream_error(const Error& error, std::string& out);
  // Once finished, once: the answer as one JSON object.
  std::string body();
  // The body of a failure before anything was sent.
  std::string error_body(const Error& error) const { return format_->error_body(error); }

  bool streaming() const { return options_.stream; }
  const Usage& usage() const { return usage_; }
  // Choices that have ended, by OpenAI's name of the reason.
  std::map<std::string, int32_t> finish_reasons() const;
  const ResponseOptions& options() const { return options_; }

 private:
  struct Choice {
    Choice(const Tokenizer& tokenizer, const ResponseOptions& options, size_t prefix_chars)
        : stream(tokenizer, options, prefix_chars) {}
    ChoiceStream stream;
    bool started = false;
    ChoiceDelta sum;  // if not streaming
  };

  void push_choice(size_t prompt_index, const ChoiceOutput& output, Progress& progress,
                   std::string& out);
  void start_choice(size_t prompt_index, int32_t index, Choice& choice, std::string& out);
  void emit(int32_t index, Choice& choice, ChoiceDelta delta, std::string& out);
  ChoiceDelta echo_delta(size_t prompt_index) const;
  void keep_prompt_logprobs(size_t prompt_index, const RequestOutput& output);

  std::shared_ptr<const ServingContext> context_;
  ResponseOptions options_;
  std::vector<PromptInfo> prompts_;
  std::unique_ptr<ResponseFormat> format_;
  std::deque<Choice> choices_;  // prompt * n + index; a deque, as choices do not move
  std::vector<std::vector<LogprobEntry>> prompt_logprobs_;  // per prompt, for an echo
  std::vector<int64_t> cached_tokens_;                      // per prompt
  size_t num_open_ = 0;
  Usage usage_;
};

}  // namespace deltaserve
