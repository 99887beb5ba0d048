// The virtual clock: arrivals up to now, a step, its outputs at its end.
#include "replayer.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/check.h"

namespace deltaserve {

Replayer::Replayer(const Trace& trace, const ReplayOptions& options, EngineCore& core,
                   SimRunner& runner)
    : trace_(&trace),
      options_(options),
      core_(&core),
      runner_(&runner),
      waiters_(trace.requests.size()),
      figures_(trace.requests.size()) {
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    const TraceRequest& request = trace.requests[i];
    num_missing_.push_back(static_cast<int32_t>(request.after.size()));
    for (const int32_t before : request.after) {
      waiters_[static_cast<size_t>(before)].push_back(static_cast<int32_t>(i));
    }
    const auto session = static_cast<size_t>(request.session);
    if (session >= sessions_.size()) {
      sessions_.resize(session + 1);
      session_left_.resize(session + 1, 0);
    }
    ++session_left_[session];
    if (request.after.empty()) sessions_[session].push_back(static_cast<int32_t>(i));
  }
}

void Replayer::run(int64_t check_every) {
  start_sessions();
  while (!arrivals_.empty() || core_->has_work()) {
    if (!core_->has_work()) now_ = std::max(now_, arrivals_.top().at);
    while (!arrivals_.empty() && arrivals_.top().at <= now_) {
      const int32_t request = arrivals_.top().request;
      arrivals_.pop();
      submit(request);
    }
    if (!core_->has_work()) continue;
    step();
    if (check_every > 0 && num_steps_ % check_every == 0) check();
  }
}

void Replayer::start_sessions() {
  if (options_.concurrency > 0) {
    for (int64_t i = 0; i < options_.concurrency; ++i) start_next_session();
    return;
  }
  for (const std::vector<int32_t>& first : sessions_) {
    for (const int32_t request : first) {
      const TraceRequest& r = trace_->requests[static_cast<size_t>(request)];
      arrivals_.push({.at = r.at * options_.pace, .request = request});
    }
  }
}

void Replayer::start_next_session() {
  while (next_session_ < sessions_.size() && sessions_[next_session_].empty()) ++next_session_;
  if (next_session_ == sessions_.size()) return;
  for (const int32_t request : sessions_[next_session_]) {
    arrivals_.push({.at = now_, .request = request});
  }
  ++next_session_;
}

void Replayer::submit(int32_t request) {
  const auto index = static_cast<size_t>(request);
  const TraceRequest& from = trace_->requests[index];
  RequestFigures& figures = figures_[index];
  figures.sent = now_;
  const std::vector<TokenRun> prompt = prompt_runs(*trace_, from);
  figures.num_shared = oracle_.longest(prompt);
  if (from.num_prompt_tokens + from.num_output_tokens > options_.max_model_len) {
    figures.refused = true;
    finish(request);
    return;
  }
  Request made;
  made.prompt_token_ids = to_tokens(prompt, options_.vocab_size);
  made.cache_borders = message_borders(*trace_, from);
  made.sampling.temperature = 0.0F;
  made.sampling.ignore_eos = true;
  made.sampling.max_tokens = from.num_output_tokens;
  made.sampling.seed = static_cast<uint64_t>(request);
  runner_->script(static_cast<uint64_t>(request),
                  to_tokens(output_runs(*trace_, from), options_.vocab_size));
  core_->add(static_cast<RequestId>(request), std::move(made));
}

void Replayer::step() {
  core_->step();
  ++num_steps_;
  now_ += runner_->last_step_seconds();
  busy_ += runner_->last_step_seconds();
  const EngineStats stats = core_->stats();
  max_running_ = std::max(max_running_, stats.num_running);
  max_waiting_ = std::max(max_waiting_, stats.num_waiting);
  for (const RequestOutput& output : core_->take_outputs()) take(output);
}

void Replayer::check() const {
  const auto violation = find_violation(core_->snapshot());
  if (violation) throw std::logic_error(*violation);
}

void Replayer::take(const RequestOutput& output) {
  RequestFigures& figures = figures_[static_cast<size_t>(output.id)];
  for (const ChoiceOutput& choice : output.choices) {
    figures.failed = figures.failed || choice.error.has_value();
    for (size_t i = 0; i < choice.token_ids.size(); ++i) {
      if (figures.first_token > 0.0) {
        figures.gaps.push_back(static_cast<float>(now_ - figures.ended));
      } else {
        figures.first_token = now_;
      }
      figures.ended = now_;
    }
  }
  figures.num_cached = output.num_cached_tokens;
  if (!output.finished) return;
  runner_->forget(output.id);
  const TraceRequest& request = trace_->requests[static_cast<size_t>(output.id)];
  std::vector<TokenRun> whole = prompt_runs(*trace_, request);
  const std::vector<TokenRun> answer = output_runs(*trace_, request);
  whole.insert(whole.end(), answer.begin(), answer.end());
  oracle_.add(whole);
  finish(static_cast<int32_t>(output.id));
}

void Replayer::finish(int32_t request) {
  figures_[static_cast<size_t>(request)].ended = now_;
  for (const int32_t waiter : waiters_[static_cast<size_t>(request)]) {
    if (--num_missing_[static_cast<size_t>(waiter)] > 0) continue;
    const double pause = trace_->requests[static_cast<size_t>(waiter)].pause;
    arrivals_.push({.at = now_ + pause * options_.pace, .request = waiter});
  }
  const auto session = static_cast<size_t>(trace_->requests[static_cast<size_t>(request)].session);
  if (--session_left_[session] == 0 && options_.concurrency > 0) start_next_session();
}

}  // namespace deltaserve
