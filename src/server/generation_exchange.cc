// GenerationExchange: runs on its connection's io thread only.
#include "server/generation_exchange.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/request_log.h"

namespace deltaserve {
namespace {

constexpr std::chrono::steady_clock::time_point kNever{};

ResponseOptions with_request_id(ResponseOptions options, const std::string& request_id) {
  options.request_id = request_id;
  return options;
}

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

std::optional<double> seconds_if(std::chrono::steady_clock::time_point begin,
                                 std::chrono::steady_clock::time_point end) {
  if (begin == kNever || end == kNever) {
    return std::nullopt;
  }
  return seconds_between(begin, end);
}

}  // namespace

GenerationExchange::GenerationExchange(ServerCore& core, ResponseChannel& channel,
                                       GenerationOrigin origin, ApiService::Prepared prepared)
    : core_(&core),
      channel_(&channel),
      origin_(std::move(origin)),
      context_(prepared.context),
      requests_(std::move(prepared.job.requests)),
      session_(context_, with_request_id(std::move(prepared.job.options), origin_.request_id),
               std::move(prepared.job.prompts)),
      last_output_(requests_.size()) {}

void GenerationExchange::start() {
  max_tokens_ = requests_.front().sampling.max_tokens;
  for (size_t i = 0; i < requests_.size(); ++i) {
    const Result<RequestId> id = core_->dispatcher.submit(
        *context_->engine, std::move(requests_[i]), origin_.io_index, shared_from_this(), i);
    if (!id) {
      fail(id.error());
      break;
    }
    ids_.push_back(*id);
  }
}

void GenerationExchange::cancel(int status, std::string_view reason) {
  if (!ended_) {
    release(true);
    record(GenerationOutcome::kAborted, status, reason);
  }
  channel_ = nullptr;
}

void GenerationExchange::release(bool abort) {
  ended_ = true;
  for (const RequestId id : ids_) {
    core_->dispatcher.remove(id);
    if (abort) {
      context_->engine->abort(id);
    }
  }
}

void GenerationExchange::on_output(size_t prompt_index, RequestOutput&& output) {
  if (ended_) {
    return;
  }
  note_output(prompt_index, output);
  const GenerationSession::Progress progress = session_.on_output(prompt_index, output, events_);
  for (const int32_t choice : progress.stopped_choices) {
    context_->engine->abort_choice(output.id, choice);
  }
  if (progress.error) {
    fail(*progress.error);
  } else if (session_.finished()) {
    complete();
  }
}

void GenerationExchange::note_output(size_t prompt_index, const RequestOutput& output) {
  const Clock::time_point now = Clock::now();
  if (times_.first_token == kNever) {
    times_ = output.times;
  }
  const auto has_tokens = [](const ChoiceOutput& choice) { return !choice.token_ids.empty(); };
  if (!std::ranges::any_of(output.choices, has_tokens)) {
    return;
  }
  if (first_output_ == kNever) {
    first_output_ = now;
  }
  Clock::time_point& last = last_output_[prompt_index];
  if (last != kNever) {
    core_->metrics.record_inter_token(seconds_between(last, now));
  }
  last = now;
}

void GenerationExchange::complete() {
  release(false);
  record(GenerationOutcome::kFinished, 200, "");
  complete_ = true;
  if (session_.streaming()) {
    session_.append_stream_end(events_);
  }
}

void GenerationExchange::on_step_end() {
  if (channel_ == nullptr) {
    return;
  }
  if (!events_.empty()) {
    open_stream();
    const std::string events = std::exchange(events_, {});
    channel_->stream(events);
  }
  // Sending may have found the reader too slow and cancelled this.
  if (!complete_ || channel_ == nullptr) {
    return;
  }
  if (stream_open_) {
    std::exchange(channel_, nullptr)->end_stream();
    return;
  }
  HttpResponse response = json_response(session_.body());  // if that throws, there is a channel
  std::exchange(channel_, nullptr)->respond(std::move(response));
}

void GenerationExchange::fail(const Error& error) {
  release(true);
  if (!ids_.empty()) {
    record(GenerationOutcome::kFailed, http_status(error.code), error.message);
  }
  if (channel_ == nullptr) {
    return;
  }
  if (stream_open_) {
    log_refusal(origin_.request_id, "POST", origin_.route, http_status(error.code), error.message);
    session_.append_stream_error(error, events_);
    complete_ = true;
    return;
  }
  events_.clear();
  HttpResponse response = error_response(error);
  response.body = session_.error_body(error);
  std::exchange(channel_, nullptr)->respond(std::move(response));
}

void GenerationExchange::on_exception(const std::string& what) {
  spdlog::error("request id={} could not be answered: {}", origin_.request_id, what);
  fail(Error{ErrorCode::kInternal, "The server failed on this request.", "", ""});
  if (channel_ != nullptr) {
    std::exchange(channel_, nullptr)->abort();
  }
}

void GenerationExchange::open_stream() {
  if (!stream_open_) {
    stream_open_ = true;
    channel_->begin_stream();
  }
}

void GenerationExchange::keep_alive() {
  if (!ended_ && channel_ != nullptr && session_.streaming()) {
    open_stream();
    channel_->stream(": keep-alive\n\n");
  }
}

void GenerationExchange::record(GenerationOutcome outcome, int status, std::string_view reason) {
  if (std::exchange(recorded_, true)) {
    return;
  }
  const Clock::time_point now = Clock::now();
  GenerationRecord record;
  record.request_id = origin_.request_id;
  record.answer_id = session_.options().id;
  record.route = origin_.route;
  record.outcome = outcome;
  record.status = status;
  record.reason = reason;
  record.stream = session_.streaming();
  record.n = session_.options().n;
  record.num_choices = record.n * static_cast<int32_t>(last_output_.size());
  record.max_tokens = max_tokens_;
  record.usage = session_.usage();
  record.finish_reasons = session_.finish_reasons();
  record.queue = seconds_if(times_.submitted, times_.scheduled);
  record.prefill = seconds_if(times_.scheduled, times_.first_token);
  record.first_token = seconds_if(origin_.arrival, first_output_);
  const int64_t tokens = record.usage.completion_tokens / std::max(record.num_choices, 1);
  if (first_output_ != kNever && tokens > 1) {
    record.inter_token = seconds_between(first_output_, std::ranges::max(last_output_)) /
                         static_cast<double>(tokens - 1);
  }
  record.total = seconds_between(origin_.arrival, now);
  core_->metrics.record_generation(record);
  if (core_->options.log_requests) {
    log_generation(record);
  }
}

}  // namespace deltaserve
