// Steps: planned, built, run, committed, and with async scheduling the next one launched before the
// results of the one that runs are waited for.
#include "engine/engine_core.h"

#include <algorithm>

#include "ops/device_lost.h"

namespace deltaserve {

void EngineCore::step() {
  ++totals_.num_steps;
  EngineStep& step = steps_[current_];
  try {
    run_step(step);
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& e) {
    fail_step(step, e.what());
  } catch (...) {
    fail_step(step, "unknown exception");
  }
  num_committed_ = num_planned_ - (ahead_ ? 1 : 0);
  if (ahead_) current_ = 1 - current_;
  forget_ended();
}

void EngineCore::run_step(EngineStep& step) {
  std::optional<std::string> failure;  // of the next step
  if (std::exchange(ahead_, false)) {
    ++totals_.num_steps_ahead;
    failure = launch_next(step);
    runner_->finish(step.sampled);
  } else {
    if (!plan_step(step)) {  // pictures are all there is to do
      device_is_behind_ = runner_->runs_ahead();
      return;
    }
    build_input(step);
    if (async_scheduling_ && !step.input.rows.empty()) {
      with_masks(step, [&] { runner_->launch(step.input.batch, step.input.rows); });
      failure = launch_next(step);
      runner_->finish(step.sampled);
    } else {
      // Without rows of logits there is nothing to wait for.
      with_masks(step, [&] { runner_->run(step.input.batch, step.input.rows, step.sampled); });
    }
  }
  other(step).begin = now();
  commit_step(step);
  record_time(step);
  if (failure) fail_step(other(step), *failure);
}

bool EngineCore::plan_step(EngineStep& step) {
  step.begin = now();
  step.is_planned = false;
  ++num_planned_;
  encode_pictures(step);
  scheduler_.plan(step.plan);
  step.is_planned = true;
  if (step.plan.sequences.empty()) return false;
  note_scheduled(step.plan);
  totals_.num_preemptions += step.plan.num_preemptions;
  totals_.recomputed_tokens += step.plan.num_recomputed_tokens;
  return true;
}

void EngineCore::build_input(EngineStep& step) {
  build_step_input(step.plan, step.input);
  step.sampled.assign(step.input.rows.size(), SampledToken{});
}

// Nobody makes a mask behind this, whether `run` worked or not: what ends it may end sequences.
void EngineCore::with_masks(const EngineStep& step, const std::function<void()>& run) {
  masks_.start(step.input.masks);
  try {
    run();
  } catch (...) {
    masks_.wait();
    throw;
  }
  masks_.wait();
}

// Launches the step behind `step`, which runs, if it can be planned already. Returns why that
// failed, if it did: that is no fault of the step that runs.
std::optional<std::string> EngineCore::launch_next(const EngineStep& step) {
  EngineStep& next = other(step);
  next.is_planned = false;
  try {
    if (encoded_.has_work() || !scheduler_.plan_ahead(step.plan, next.plan)) return std::nullopt;
    next.is_planned = true;
    next.num_encoding = 0;
    build_input(next);
    runner_->launch(next.input.batch, next.input.rows);
  } catch (const DeviceLost&) {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
  ++num_planned_;
  ahead_ = true;
  return std::nullopt;
}

RequestTimes::Clock::time_point EngineCore::now() const {
  return clock_ ? clock_() : RequestTimes::Clock::now();
}

// Before the plan, so that what is complete can be used at once. Beside decodes pictures get half
// of what prompts may take of a step.
void EngineCore::encode_pictures(EngineStep& step) {
  step.num_encoding = 0;
  const StepWork decodes = scheduler_.decode_work();
  PromptAllowance allowance = pace_.allowance(decodes);
  if (encoded_.has_work()) {
    int64_t tokens = max_num_batched_tokens_;
    if (decodes.decodes > 0.0) {
      tokens = std::min(tokens, std::max<int64_t>(kChunkSize, allowance.tokens_behind(0)) / 2);
    }
    try {
      step.num_encoding = encoded_.advance(tokens);
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& e) {
      fail_pictures(e.what());
    }
    allowance.take(0, step.num_encoding);
  }
  scheduler_.limit_prompts_beside_decodes(allowance);
}

StepWork EngineCore::planned_work(const EngineStep& step) {
  StepWork work;
  for (const ScheduledSequence& scheduled : step.plan.sequences) {
    if (scheduled.recurrent && scheduled.samples) {
      work.add_decodes(scheduled.begin, scheduled.num_scheduled_tokens);
    } else {
      work.add_prompt(scheduled.begin, scheduled.num_scheduled_tokens);
    }
  }
  work.add_prompt(0, step.num_encoding);
  return work;
}

// A device that runs ahead is waited for only where there are rows of logits: a step without them
// comes back before it is done and the next one waits for both, so that neither time tells
// anything.
void EngineCore::record_time(const EngineStep& step) {
  const bool is_behind = step.input.rows.empty() && runner_->runs_ahead();
  if (!is_behind && !device_is_behind_) {
    pace_.record(planned_work(step), std::chrono::duration<double>(now() - step.begin).count());
  }
  device_is_behind_ = is_behind;
}

void EngineCore::note_scheduled(const StepPlan& plan) {
  const auto time = now();
  for (const ScheduledSequence& scheduled : plan.sequences) {
    RequestTimes& times = scheduled.sequence->owner().times;
    if (times.scheduled == RequestTimes::Clock::time_point()) times.scheduled = time;
  }
}

}  // namespace deltaserve
