#include "async_runner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace deltaserve {
namespace {

template <typename T>
std::vector<T> copy_list(const T* values, int64_t count) {
  return values == nullptr ? std::vector<T>() : std::vector<T>(values, values + count);
}

}  // namespace

AsyncRunner::AsyncRunner(FakeRunner& runner, bool on_thread) : runner_(&runner) {
  if (on_thread) thread_ = std::thread([this] { work(); });
}

AsyncRunner::~AsyncRunner() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void AsyncRunner::run(const Batch& batch, std::span<const SamplingRow> rows,
                      std::span<SampledToken> sampled) {
  wait_for_all();
  wait_for_rows();
  runner_->run(batch, rows, sampled);
}

void AsyncRunner::launch(const Batch& batch, std::span<const SamplingRow> rows) {
  wait_for_rows();
  auto step = std::make_unique<Step>();
  step->batch = batch;
  for (const SamplingRow& row : rows) step->rows.push_back(copy_row(row));
  step->sampled.resize(rows.size());
  {
    const std::lock_guard lock(mutex_);
    if (steps_.size() == kMaxOpenDraws) throw std::logic_error("too many steps are launched");
    if (!steps_.empty() && std::exchange(fails_to_launch, false)) {
      throw std::runtime_error("injected at the launch");
    }
    steps_.push_back(std::move(step));
    ++num_launched;
  }
  changed_.notify_all();
}

void AsyncRunner::finish(std::span<SampledToken> sampled) {
  if (steps_.empty()) throw std::logic_error("no step is launched");
  wait_for(*steps_.front());
  std::unique_ptr<Step> step;
  {
    const std::lock_guard lock(mutex_);
    step = std::move(steps_.front());
    steps_.pop_front();
    ++num_finished;
  }
  if (step->failure) std::rethrow_exception(step->failure);
  if (step->sampled.size() != sampled.size()) throw std::logic_error("results of another step");
  std::ranges::move(step->sampled, sampled.begin());
}

std::unique_ptr<AsyncRunner::OwnedRow> AsyncRunner::copy_row(const SamplingRow& row) const {
  auto owned = std::make_unique<OwnedRow>();
  owned->row = row;
  owned->counts = copy_list(row.counts, row.num_counts);
  owned->logit_bias = copy_list(row.logit_bias, row.num_logit_bias);
  owned->banned = copy_list(row.banned, row.num_banned);
  owned->allowed = copy_list(row.allowed, (runner_->vocab_size() + 63) / 64);
  owned->row.counts = owned->counts.data();
  owned->row.logit_bias = owned->logit_bias.data();
  owned->row.banned = owned->banned.data();
  owned->row.allowed = row.allowed == nullptr ? nullptr : owned->allowed.data();
  return owned;
}

void AsyncRunner::run_step(Step& step) {
  std::vector<SamplingRow> rows;
  for (const auto& row : step.rows) rows.push_back(row->row);
  try {
    runner_->run(step.batch, rows, step.sampled);
  } catch (...) {
    step.failure = std::current_exception();
  }
}

void AsyncRunner::wait_for(Step& step) {
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&step] { return step.done; });
  } else {
    if (!step.done) run_step(step);
    step.done = true;
  }
}

void AsyncRunner::wait_for_all() {
  for (const auto& step : steps_) wait_for(*step);
}

void AsyncRunner::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto next = std::ranges::find(steps_, false, [](const auto& step) { return step->done; });
    if (next == steps_.end()) {
      if (stop_) return;
      changed_.wait(lock);
      continue;
    }
    Step& step = **next;  // stays where it is until it is done
    lock.unlock();
    run_step(step);
    lock.lock();
    step.done = true;
    changed_.notify_all();
  }
}

void AsyncRunner::save_block(int32_t block, std::byte* to) {
  wait_for_all();
  runner_->transfer()->save_block(block, to);
}

void AsyncRunner::load_block(const std::byte* from, int32_t block) {
  wait_for_all();
  runner_->transfer()->load_block(from, block);
}

void AsyncRunner::save_state(int32_t slot, std::byte* to) {
  wait_for_all();
  runner_->transfer()->save_state(slot, to);
}

void AsyncRunner::load_state(const std::byte* from, int32_t slot) {
  wait_for_all();
  runner_->transfer()->load_state(from, slot);
}

}  // namespace deltaserve
