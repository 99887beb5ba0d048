// GenerationExchange: runs on its connection's io thread only.
#include "server/generation_exchange.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace deltaserve {

GenerationExchange::GenerationExchange(ServerCore& core, ResponseChannel& channel, size_t io_index,
                                       ApiService::Prepared prepared, Clock::time_point arrival)
    : core_(&core),
      channel_(&channel),
      io_index_(io_index),
      context_(prepared.context),
      requests_(std::move(prepared.job.requests)),
      session_(context_, std::move(prepared.job.options), std::move(prepared.job.prompts)),
      arrival_(arrival) {}

void GenerationExchange::start() {
  max_tokens_ = requests_.front().sampling.max_tokens;
  for (size_t i = 0; i < requests_.size(); ++i) {
    const Result<RequestId> id = core_->dispatcher.submit(
        *context_->engine, std::move(requests_[i]), io_index_, shared_from_this(), i);
    if (!id) {
      fail(id.error());
      break;
    }
    ids_.push_back(*id);
  }
  requests_.clear();
}

void GenerationExchange::cancel() {
  if (!ended_) {
    release(true);
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
  if (first_output_ == Clock::time_point()) {
    first_output_ = Clock::now();
  }
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

void GenerationExchange::complete() {
  release(false);
  record();
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
  ResponseChannel* channel = std::exchange(channel_, nullptr);
  if (stream_open_) {
    channel->end_stream();
  } else {
    channel->respond(json_response(session_.body()));
  }
}

void GenerationExchange::fail(const Error& error) {
  release(true);
  if (channel_ == nullptr) {
    return;
  }
  if (http_status(error.code) >= 500) {
    spdlog::error("{}: {}", session_.options().id, error.message);
  }
  if (stream_open_) {
    GenerationSession::append_stream_error(error, events_);
    complete_ = true;
    return;
  }
  events_.clear();
  std::exchange(channel_, nullptr)->respond(error_response(error));
}

void GenerationExchange::on_exception(const std::string& what) {
  spdlog::error("{}: {}", session_.options().id, what);
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

void GenerationExchange::record() const {
  const auto seconds = [this](Clock::time_point time) {
    return std::chrono::duration<double>(time - arrival_).count();
  };
  GenerationRecord record;
  record.time_to_first_token = seconds(first_output_);
  record.latency = seconds(Clock::now());
  record.prompt_tokens = session_.usage().prompt_tokens;
  record.cached_tokens = session_.usage().cached_tokens;
  record.generation_tokens = session_.usage().completion_tokens;
  record.max_tokens = max_tokens_;
  record.n = session_.options().n;
  core_->metrics.record_generation(record);
}

}  // namespace deltaserve
