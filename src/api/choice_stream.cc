// ChoiceStream: see the header for the order of the stages.
#include "api/choice_stream.h"

#include <algorithm>

#include "api/text_length.h"

namespace deltaserve {

ChoiceStream::ChoiceStream(const Tokenizer& tokenizer, const ResponseOptions& options,
                           size_t prefix_chars)
    : tokenizer_(&tokenizer),
      options_(&options),
      detokenizer_(tokenizer, options.skip_special_tokens),
      stop_matcher_(options.stop),
      decoded_chars_(prefix_chars) {}

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
  const std::string text = hidden ? std::string() : detokenizer_.push(id);
  const bool shown = !hidden && !(options_->skip_special_tokens && tokenizer_->is_special(id));
  if (logprob != nullptr && options_->num_logprobs >= 0) {
    queue_entry(*logprob, shown, text);
  }
  feed(text, delta);
}

// `text` is what the token completed. A character that began in earlier tokens is theirs as well;
// a token that leaves one unfinished waits for its rest.
void ChoiceStream::queue_entry(const TokenLogprob& logprob, bool shown, std::string_view text) {
  const size_t text_end = decoded_bytes_ + text.size();
  if (!text.empty()) {
    for (PendingEntry& waiting : pending_) {
      waiting.text_end = waiting.text_end.value_or(text_end);
    }
  }
  PendingEntry pending;
  pending.entry = {logprob.token, logprob.logprob, logprob.top, shown, decoded_chars_};
  pending.begin = decoded_bytes_;
  if (!shown || !detokenizer_.holds_bytes()) {
    pending.text_end = text_end;
  }
  pending_.push_back(std::move(pending));
}

void ChoiceStream::feed(std::string_view text, ChoiceDelta& delta) {
  decoded_bytes_ += text.size();
  decoded_chars_ += count_characters(text);
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

void ChoiceStream::end_by_string(size_t stop, ChoiceDelta& delta) {
  if (options_->include_stop_string) {
    send(options_->stop[stop], delta);
  }
  std::erase_if(pending_, [this](const PendingEntry& pending) {
    return pending.begin >= sent_bytes_ && pending.text_end != pending.begin;
  });
  sent_bytes_ = decoded_bytes_;
  release_entries(delta);
  stopped_by_string_ = true;
  end_ = ChoiceEnd{FinishReason::kStop, options_->stop[stop]};
}

void ChoiceStream::end_by_engine(const ChoiceOutput& output, ChoiceDelta& delta) {
  const std::string tail = detokenizer_.finish();
  for (PendingEntry& waiting : pending_) {
    if (!waiting.text_end) {
      waiting.text_end = decoded_bytes_ + tail.size();
    }
  }
  feed(tail, delta);
  if (finished()) {
    return;
  }
  send(stop_matcher_.finish(), delta);
  end_ = ChoiceEnd{*output.finish_reason, {}};
  if (output.stop_token && std::ranges::find(options_->stop_token_ids, *output.stop_token) !=
                               options_->stop_token_ids.end()) {
    end_->stop_reason = *output.stop_token;
  }
}

void ChoiceStream::send(std::string_view text, ChoiceDelta& delta) {
  delta.content += text;
  sent_bytes_ += text.size();
  release_entries(delta);
}

void ChoiceStream::release_entries(ChoiceDelta& delta) {
  while (!pending_.empty() && pending_.front().text_end &&
         *pending_.front().text_end <= sent_bytes_) {
    delta.logprobs.push_back(std::move(pending_.front().entry));
    pending_.pop_front();
  }
}

}  // namespace deltaserve
