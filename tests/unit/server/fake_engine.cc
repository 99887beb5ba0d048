// FakeEngine: one thread, one lock that is never held while the sink runs.
#include "fake_engine.h"

#include <utility>

namespace deltaserve {

void FakeEngine::start(OutputSink sink) {
  sink_ = std::move(sink);
  thread_ = std::thread([this] { run(); });
}

Result<RequestId> FakeEngine::submit(Request request) {
  const std::lock_guard lock(mutex_);
  if (refusal_) {
    return std::unexpected(*refusal_);
  }
  Running running;
  for (int32_t i = 0; i < request.sampling.n; ++i) {
    running.tokens.push_back(script_(request, i));
    running.open.insert(i);
  }
  running.next.resize(running.tokens.size(), 0);
  running.request = std::move(request);
  running.times.submitted = RequestTimes::Clock::now();
  const RequestId id = next_id_++;
  running_.emplace(id, std::move(running));
  wake_.notify_all();
  return id;
}

void FakeEngine::abort(RequestId id) {
  const std::lock_guard lock(mutex_);
  num_aborted_ += running_.erase(id);
}

void FakeEngine::abort_choice(RequestId id, int32_t index) {
  const std::lock_guard lock(mutex_);
  if (const auto found = running_.find(id); found != running_.end()) {
    num_aborted_choices_ += found->second.open.erase(index);
    if (found->second.open.empty()) {
      running_.erase(found);
    }
  }
}

void FakeEngine::stop(double /*drain_seconds*/) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

EngineStats FakeEngine::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats;
  stats.num_running = static_cast<int64_t>(running_.size());
  stats.requests_abort = static_cast<int64_t>(num_aborted_);
  return stats;
}

void FakeEngine::hold(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
  wake_.notify_all();
}

void FakeEngine::fail_with(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void FakeEngine::refuse_with(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(error);
}

size_t FakeEngine::num_running() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

size_t FakeEngine::num_aborted() const {
  const std::lock_guard lock(mutex_);
  return num_aborted_;
}

size_t FakeEngine::num_aborted_choices() const {
  const std::lock_guard lock(mutex_);
  return num_aborted_choices_;
}

size_t FakeEngine::num_submitted() const {
  const std::lock_guard lock(mutex_);
  return next_id_ - 1;
}

void FakeEngine::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (running_.empty() || held_) {
      wake_.wait(lock);
      continue;
    }
    std::vector<RequestOutput> outputs = step();
    lock.unlock();
    sink_(std::move(outputs));
    std::this_thread::sleep_for(step_);
    lock.lock();
  }
}

std::vector<RequestOutput> FakeEngine::step() {
  std::vector<RequestOutput> outputs;
  for (auto it = running_.begin(); it != running_.end();) {
    Running& running = it->second;
    RequestOutput output;
    output.id = it->first;
    output.num_prompt_tokens = static_cast<int64_t>(running.request.prompt_token_ids.size());
    if (running.times.scheduled == RequestTimes::Clock::time_point()) {
      running.times.scheduled = running.times.first_token = RequestTimes::Clock::now();
    }
    output.times = running.times;
    const std::set<int32_t> open = running.open;
    for (const int32_t index : open) {
      output.choices.push_back(step_choice(running, index));
    }
    output.finished = running.open.empty();
    outputs.push_back(std::move(output));
    it = running.open.empty() ? running_.erase(it) : std::next(it);
  }
  return outputs;
}

ChoiceOutput FakeEngine::step_choice(Running& running, int32_t index) {
  ChoiceOutput choice;
  choice.index = index;
  if (failure_) {
    choice.error = failure_;
    choice.finish_reason = FinishReason::kError;
    running.open.erase(index);
    return choice;
  }
  const auto slot = static_cast<size_t>(index);
  const std::vector<int32_t>& tokens = running.tokens[slot];
  const int32_t token = tokens[running.next[slot]++];
  choice.token_ids = {token};
  const auto limit = static_cast<size_t>(running.request.sampling.max_tokens);
  const bool last = running.next[slot] >= std::min(tokens.size(), limit);
  if (token == kEosToken) {
    choice.finish_reason = FinishReason::kStop;
    choice.stop_token = token;
  } else if (last) {
    choice.finish_reason = FinishReason::kLength;
  }
  if (choice.finish_reason) {
    running.open.erase(index);
  }
  return choice;
}

}  // namespace deltaserve
