// GenerationSession: one ChoiceStream a choice and one ResponseFormat for all.
#include "api/generation_session.h"

#include <utility>

#include "api/openai_response.h"
#include "api/text_length.h"

namespace deltaserve {
namespace {

Error choice_error(const ChoiceOutput& output) {
  if (output.error) {
    return *output.error;
  }
  if (output.finish_reason == FinishReason::kAbort) {
    return Error{ErrorCode::kUnavailable, "The server is shutting down.", "", ""};
  }
  return Error{ErrorCode::kInternal, "The model failed on this request.", "", ""};
}

}  // namespace

GenerationSession::GenerationSession(std::shared_ptr<const ServingContext> context,
                                     ResponseOptions options, std::vector<PromptInfo> prompts)
    : context_(std::move(context)),
      options_(std::move(options)),
      prompts_(std::move(prompts)),
      format_(options_.make_format(*context_->tokenizer, options_)),
      prompt_logprobs_(prompts_.size()),
      cached_tokens_(prompts_.size(), 0) {
  for (const PromptInfo& prompt : prompts_) {
    usage_.prompt_tokens += prompt.num_tokens;
    for (int32_t i = 0; i < options_.n; ++i) {
      choices_.emplace_back(*context_->tokenizer, options_, count_characters(prompt.echo));
    }
  }
  num_open_ = choices_.size();
}

GenerationSession::Progress GenerationSession::on_output(size_t prompt_index,
                                                         const RequestOutput& output,
                                                         std::string& out) {
  Progress progress;
  usage_.cached_tokens += output.num_cached_tokens - cached_tokens_[prompt_index];
  cached_tokens_[prompt_index] = output.num_cached_tokens;
  keep_prompt_logprobs(prompt_index, output);
  for (const ChoiceOutput& choice : output.choices) {
    if (!progress.error) {
      push_choice(prompt_index, choice, progress, out);
    }
  }
  return progress;
}

void GenerationSession::push_choice(size_t prompt_index, const ChoiceOutput& output,
                                    Progress& progress, std::string& out) {
  const size_t index =
      prompt_index * static_cast<size_t>(options_.n) + static_cast<size_t>(output.index);
  Choice& choice = choices_.at(index);
  if (choice.stream.finished()) {
    return;
  }
  if (output.error || output.finish_reason == FinishReason::kError ||
      output.finish_reason == FinishReason::kAbort) {
    progress.error = choice_error(output);
    return;
  }
  const auto shown_index = static_cast<int32_t>(index);
  if (!choice.started) {
    start_choice(prompt_index, shown_index, choice, out);
  }
  ChoiceDelta delta;
  const int64_t before = choice.stream.num_tokens();
  const int64_t reasoning_before = choice.stream.num_reasoning_tokens();
  choice.stream.push(output, delta);
  usage_.completion_tokens += choice.stream.num_tokens() - before;
  usage_.reasoning_tokens += choice.stream.num_reasoning_tokens() - reasoning_before;
  ChoiceDelta rest;
  if (choice.stream.finished() && delta.events.empty()) {
    rest = std::exchange(delta, {});
  }
  emit(shown_index, choice, std::move(delta), out);
  if (!choice.stream.finished()) {
    return;
  }
  --num_open_;
  if (choice.stream.ended_here() && !output.finish_reason) {
    progress.stopped_choices.push_back(output.index);
  }
  if (options_.stream) {
    format_->end_choice(shown_index, choice.stream.end(), rest, usage_, out);
  } else {
    emit(shown_index, choice, std::move(rest), out);
  }
}

void GenerationSession::start_choice(size_t prompt_index, int32_t index, Choice& choice,
                                     std::string& out) {
  choice.started = true;
  if (options_.stream) {
    format_->start_choice(index, prompts_[prompt_index], usage_, out);
  }
  emit(index, choice, echo_delta(prompt_index), out);
}

void GenerationSession::emit(int32_t index, Choice& choice, ChoiceDelta delta, std::string& out) {
  if (delta.empty()) {
    return;
  }
  if (options_.stream) {
    format_->append_delta(index, delta, usage_, out);
    return;
  }
  choice.sum.append(std::move(delta));
}

ChoiceDelta GenerationSession::echo_delta(size_t prompt_index) const {
  ChoiceDelta delta;
  EventSink(delta.events).content(prompts_[prompt_index].echo);
  delta.logprobs = prompt_logprobs_[prompt_index];
  return delta;
}

// Prompt tokens of an echo: the engine's log probabilities with text offsets beside them.
void GenerationSession::keep_prompt_logprobs(size_t prompt_index, const RequestOutput& output) {
  if (output.prompt_logprobs.empty()) {
    return;
  }
  const std::vector<int32_t>& ids = prompts_[prompt_index].token_ids;
  Detokenizer detokenizer(*context_->tokenizer, false);
  size_t offset = 0;
  for (size_t i = 0; i < output.prompt_logprobs.size() && i < ids.size(); ++i) {
    LogprobEntry entry;
    entry.token = ids[i];
    entry.text_offset = offset;
    if (const auto& logprob = output.prompt_logprobs[i]) {
      entry.logprob = logprob->logprob;
      entry.top = logprob->top;
    }
    offset += count_characters(detokenizer.push(ids[i]));
    prompt_logprobs_[prompt_index].push_back(std::move(entry));
  }
}

void GenerationSession::append_stream_end(std::string& out) {
  format_->end_stream(usage_, out);
}

void GenerationSession::append_stream_error(const Error& error, std::string& out) {
  format_->append_error(error, out);
}

std::map<std::string, int32_t> GenerationSession::finish_reasons() const {
  std::map<std::string, int32_t> reasons;
  for (const Choice& choice : choices_) {
    if (choice.stream.finished()) {
      ++reasons[finish_reason_name(choice.stream.end().finish)];
    }
  }
  return reasons;
}

std::string GenerationSession::body() {
  std::vector<CollectedChoice> collected;
  collected.reserve(choices_.size());
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    const PromptInfo& prompt = prompts_[i / static_cast<size_t>(options_.n)];
    collected.push_back({std::move(choice.sum), choice.stream.end(), &prompt});
  }
  return format_->body(collected, usage_);
}

}  // namespace deltaserve
