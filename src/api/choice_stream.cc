// ChoiceStream: see the header for the order of the stages.
#include "api/choice_stream.h"

#include <algorithm>
#include <utility>

#include "api/text_length.h"

namespace deltaserve {

ChoiceStream::ChoiceStream(const Tokenizer& tokenizer, const ResponseOptions& options,
                           size_t prefix_chars)
    : options_(&options),
      decoder_(tokenizer, options),
      stop_matcher_(options.stop),
      content_chars_(prefix_chars) {}

void ChoiceStream::push(const ChoiceOutput& output, ChoiceDelta& delta) {
  for (size_t i = 0; i < output.token_ids.size() && !finished(); ++i) {
    const bool last = i + 1 == output.token_ids.size();
    const bool stop_token =
        last && output.stop_token.has_value() && *output.stop_token == output.token_ids[i];
    const TokenLogprob* logprob = i < output.logprobs.size() ? &output.logprobs[i] : nullptr;
    push_token(output.token_ids[i], logprob, stop_token && !options_->include_stop_string, delta);
  }
  if (!finished() && output.finish_reason) {
    end_by_engine(output, delta);
  }
}

void ChoiceStream::push_token(int32_t id, const TokenLogprob* logprob, bool hidden,
                              ChoiceDelta& delta) {
  ++num_tokens_;
  if (options_->return_token_ids) {
    delta.token_ids.push_back(id);
  }
  const size_t begin = decoder_.num_bytes();
  const size_t chars = content_chars_;
  std::vector<OutputEvent> events;
  if (!hidden) {
    events = decoder_.push(id);
  }
  const size_t end = decoder_.num_bytes();
  if (logprob != nullptr && options_->num_logprobs >= 0) {
    if (end > begin) {
      logprobs_.complete_character(end);
    }
    const bool visible = !hidden && decoder_.last_is_visible();
    const bool cut = visible && decoder_.holds_bytes();
    LogprobEntry entry{.token = logprob->token, .logprob = logprob->logprob, .top = logprob->top};
    entry.visible = visible;
    entry.text_offset = chars;
    logprobs_.add(std::move(entry), begin, cut ? std::nullopt : std::optional(end));
  }
  take(std::move(events), delta);
}

// Entries are settled before anything is sent, so that those of a stop string are known for what
// they are.
void ChoiceStream::take(std::vector<OutputEvent> events, ChoiceDelta& delta) {
  for (const OutputEvent& event : events) {
    if (event.kind == OutputEvent::Kind::kContent) {
      content_bytes_ += event.text.size();
      content_chars_ += count_characters(event.text);
    }
  }
  logprobs_.settle(decoder_.num_settled(), content_bytes_);
  for (OutputEvent& event : events) {
    if (finished()) {
      return;
    }
    if (event.kind == OutputEvent::Kind::kContent) {
      take_content(event.text, delta);
    } else {
      take_other(std::move(event), delta);
    }
  }
  if (!finished()) {
    logprobs_.release(sent_bytes_, delta.logprobs);
  }
}

void ChoiceStream::take_content(std::string_view text, ChoiceDelta& delta) {
  if (num_tokens_ <= options_->min_tokens) {
    send(text, delta);
    return;
  }
  const StopMatcher::Piece piece = stop_matcher_.push(text);
  send(piece.text, delta);
  if (piece.stop) {
    end_by_string(*piece.stop, delta);
  }
}

// What is held back before a call cannot become a stop string any more.
void ChoiceStream::take_other(OutputEvent event, ChoiceDelta& delta) {
  const bool of_call = event.kind != OutputEvent::Kind::kReasoning;
  if (of_call && options_->hide_tool_calls) {
    return;
  }
  if (event.kind == OutputEvent::Kind::kToolCallBegin) {
    send(stop_matcher_.finish(), delta);
    stop_matcher_ = StopMatcher(options_->stop);
  }
  const bool whole_call = event.kind == OutputEvent::Kind::kToolCallEnd;
  ChoiceDelta more;
  more.events.push_back(std::move(event));
  delta.append(std::move(more));
  has_call_ = has_call_ || whole_call;
  if (whole_call && !options_->parallel_tool_calls) {
    logprobs_.release_all(delta.logprobs);
    ended_here_ = true;
    end_ = ChoiceEnd{ChoiceFinish::kToolCalls, {}};
  }
}

void ChoiceStream::send(std::string_view text, ChoiceDelta& delta) {
  EventSink(delta.events).content(text);
  sent_bytes_ += text.size();
}

void ChoiceStream::end_by_string(size_t stop, ChoiceDelta& delta) {
  if (options_->include_stop_string) {
    send(options_->stop[stop], delta);
  }
  logprobs_.cut(sent_bytes_, delta.logprobs);
  ended_here_ = true;
  end_ = ChoiceEnd{finish_of_stop(), options_->stop[stop]};
}

void ChoiceStream::end_by_engine(const ChoiceOutput& output, ChoiceDelta& delta) {
  const bool stopped = *output.finish_reason == FinishReason::kStop;
  std::vector<OutputEvent> events =
      decoder_.finish(stopped ? OutputEnd::kStop : OutputEnd::kLength);
  logprobs_.complete_character(decoder_.num_bytes());
  take(std::move(events), delta);
  if (finished()) {
    return;
  }
  send(stop_matcher_.finish(), delta);
  logprobs_.release_all(delta.logprobs);
  end_ = ChoiceEnd{stopped ? finish_of_stop() : ChoiceFinish::kLength, {}};
  const std::vector<int32_t>& own = options_->stop_token_ids;
  if (output.stop_token && std::ranges::find(own, *output.stop_token) != own.end()) {
    end_->stop_reason = *output.stop_token;
  }
}

ChoiceFinish ChoiceStream::finish_of_stop() const {
  return has_call_ ? ChoiceFinish::kToolCalls : ChoiceFinish::kStop;
}

}  // namespace deltaserve
