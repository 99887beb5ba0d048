// The loop, and the thread-safe side of it.
#include "engine/threaded_engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <random>
#include <utility>

#include "base/check.h"
#include "engine/step_limits.h"
#include "engine/warm_up.h"

namespace deltaserve {

ThreadedEngine::ThreadedEngine(const ThreadedEngineOptions& options,
                               std::unique_ptr<ModelRunner> runner)
    : options_(options), runner_(std::move(runner)), core_(options.core, *runner_) {
  if (!options.prefix_store.directory.empty()) core_.open_store(options.prefix_store);
}

ThreadedEngine::~ThreadedEngine() {
  stop(0.0);
}

void ThreadedEngine::start(OutputSink sink) {
  const std::lock_guard lock(join_mutex_);
  DS_CHECK(!thread_.joinable(), "the engine is started once");
  sink_ = std::move(sink);
  thread_ = std::thread([this] { run(); });
}

Result<RequestId> ThreadedEngine::submit(Request request) {
  if (Result<void> checked = check_request(request, options_.limits); !checked) {
    return std::unexpected(checked.error());
  }
  const std::lock_guard lock(mutex_);
  if (!accepting_) {
    return fail(ErrorCode::kUnavailable,
                healthy_ ? "the engine is stopping and takes no further requests"
                         : "the engine has failed: restart the server");
  }
  if (num_queued_ + request.sampling.n > options_.max_queue_len) {
    return fail(ErrorCode::kTooManyRequests,
                fmt::format("{} requests wait already: try again later", num_queued_));
  }
  num_queued_ += request.sampling.n;
  const RequestId id = next_id_++;
  inbox_.requests.push_back({.id = id, .request = std::move(request), .submitted = Clock::now()});
  wake_.notify_one();
  return id;
}

void ThreadedEngine::abort(RequestId id) {
  push_abort({.id = id, .choice = std::nullopt});
}

void ThreadedEngine::abort_choice(RequestId id, int32_t index) {
  push_abort({.id = id, .choice = index});
}

void ThreadedEngine::push_abort(Abort abort) {
  const std::lock_guard lock(mutex_);
  inbox_.aborts.push_back(abort);
  wake_.notify_one();
}

void ThreadedEngine::stop(double drain_seconds) {
  {
    const std::lock_guard lock(mutex_);
    accepting_ = false;
    const auto drain = std::chrono::duration<double>(drain_seconds);
    inbox_.stop_by = Clock::now() + std::chrono::duration_cast<Clock::duration>(drain);
    wake_.notify_one();
  }
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

EngineStats ThreadedEngine::stats() const {
  const std::lock_guard lock(mutex_);
  EngineStats stats = stats_;
  stats.num_waiting = num_queued_;  // those too that came since the last step
  return stats;
}

std::string ThreadedEngine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ThreadedEngine::run() {
  // A step's failures never come here: the device is lost, or the loop or the sink is broken.
  try {
    run_loop();
  } catch (const std::exception& e) {
    die(e.what());
    return;
  } catch (...) {
    die("unknown exception");
    return;
  }
  try {
    core_.save_prefixes();
  } catch (const std::exception& e) {
    spdlog::error("the prefix cache could not be written: {}", e.what());
  }
}

void ThreadedEngine::run_loop() {
  while (true) {
    Inbox inbox = wait_for_work();
    take_in(inbox);
    if (inbox.stop_by && Clock::now() >= *inbox.stop_by) core_.abort_all();
    if (core_.has_work()) core_.step();
    deliver();
    if (inbox.stop_by && !core_.has_work()) return;
  }
}

ThreadedEngine::Inbox ThreadedEngine::wait_for_work() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] {
    return core_.has_work() || !inbox_.requests.empty() || !inbox_.aborts.empty() ||
           inbox_.stop_by.has_value();
  });
  Inbox taken = std::exchange(inbox_, {});
  inbox_.stop_by = taken.stop_by;  // stays until it is reached
  return taken;
}

void ThreadedEngine::take_in(Inbox& inbox) {
  for (Submission& submission : inbox.requests) {
    core_.add(submission.id, std::move(submission.request), submission.submitted);
  }
  for (const Abort& abort : inbox.aborts) {
    if (abort.choice) {
      core_.abort_choice(abort.id, *abort.choice);
    } else {
      core_.abort(abort.id);
    }
  }
}

void ThreadedEngine::deliver() {
  {
    const std::lock_guard lock(mutex_);
    stats_ = core_.stats();
    num_queued_ = core_.num_waiting();
    for (const Submission& submission : inbox_.requests) {
      num_queued_ += submission.request.sampling.n;
    }
  }
  std::vector<RequestOutput> outputs = core_.take_outputs();
  if (!outputs.empty()) sink_(std::move(outputs));
}

void ThreadedEngine::die(const std::string& reason) {
  spdlog::critical("the engine thread has died: {}", reason);
  Inbox inbox;
  {
    const std::lock_guard lock(mutex_);
    failure_ = reason;
    healthy_ = false;
    accepting_ = false;
    inbox = std::exchange(inbox_, {});
  }
  try {
    take_in(inbox);
    core_.fail_all({ErrorCode::kInternal, "the engine has failed: restart the server", {}, {}});
    deliver();
  } catch (const std::exception& e) {
    // Nobody is left to tell; healthy() says it.
    spdlog::error("the dying engine could not end its requests: {}", e.what());
  } catch (...) {
    spdlog::error("the dying engine could not end its requests");
  }
}

Result<std::unique_ptr<Engine>> make_engine(Model& model, const EngineOptions& options) {
  const Result<MemoryPlan> plan = plan_memory(model, model.backend().free_memory(), options);
  if (!plan) return std::unexpected(plan.error());
  const bool stores = !options.prefix_cache_dir.empty();
  if (stores && !options.enable_prefix_caching) {
    return invalid("--prefix-cache-dir needs the prefix cache", "prefix-cache-dir");
  }
  if (stores) {
    if (Result<void> made = check_prefix_directory(options.prefix_cache_dir); !made) {
      return std::unexpected(made.error());
    }
  }
  const StepLimits limits = step_limits(options, plan->max_model_len, model.vision());
  const int64_t num_slots = plan->num_state_slots + plan->num_snapshots;
  if (Result<void> done = model.allocate(limits, plan->num_blocks, num_slots); !done) {
    return std::unexpected(done.error());
  }
  const int64_t vocab_size =
      options.sampling_vocab_size > 0 ? options.sampling_vocab_size : model.config().vocab_size;
  ThreadedEngineOptions threaded;
  threaded.core.num_blocks = static_cast<int32_t>(plan->num_blocks);
  threaded.core.num_state_slots = static_cast<int32_t>(plan->num_state_slots);
  threaded.core.num_snapshots = static_cast<int32_t>(plan->num_snapshots);
  threaded.core.vocab_size = static_cast<int32_t>(vocab_size);
  threaded.core.scheduler = {.max_num_seqs = options.max_num_seqs,
                             .max_num_batched_tokens = options.max_num_batched_tokens,
                             .long_prefill_token_threshold = options.long_prefill_token_threshold,
                             .fair_share = options.fair_share};
  threaded.core.async_scheduling = options.async_scheduling;
  threaded.core.inter_token_target_seconds = options.inter_token_target_seconds;
  threaded.core.prefix_cache = {.enabled = options.enable_prefix_caching,
                                .reuse_answers = options.prefix_cache_answers,
                                .snapshot_interval = plan->snapshot_interval,
                                .hash_seed = std::random_device()(),
                                .swap_space_bytes = options.swap_space_bytes};
  threaded.prefix_store = {.directory = options.prefix_cache_dir,
                           .max_bytes = options.prefix_cache_dir_bytes,
                           .fingerprint = options.cache_fingerprint};
  threaded.core.state_slot_bytes = model.memory().state_slot_bytes;
  threaded.limits = {.max_model_len = plan->max_model_len,
                     .vocab_size = vocab_size,
                     .max_choices = options.max_queue_len};
  std::unique_ptr<ModelRunner> runner = make_model_runner(model, vocab_size);
  if (runner->vision() != nullptr) {
    threaded.limits.vision = runner->vision();
    threaded.limits.placeholders = {.image = model.config().image_token_id,
                                    .video = model.config().video_token_id};
    threaded.core.placeholders = threaded.limits.placeholders;
  }
  threaded.max_queue_len = options.max_queue_len;
  threaded.plan = *plan;
  if (Result<void> warmed = warm_up(*runner); !warmed) return std::unexpected(warmed.error());
  return std::make_unique<ThreadedEngine>(threaded, std::move(runner));
}

}  // namespace deltaserve
