// The engine without its thread: requests in, steps, outputs out. One thread owns it. A step that
// throws ends the requests that were in it with kInternal, gives back all they held and leaves
// every other request as it was.
//
// With async_scheduling a step of decodes is launched while the one before it runs, as if all
// sequences went on: see Scheduler::plan_ahead. What it computed of one that did not is thrown
// away. A sequence changes when its step is committed, and what it gives back is used by later
// steps only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/block_pool.h"
#include "cache/state_pool.h"
#include "engine/encoder_cache.h"
#include "engine/engine.h"
#include "engine/engine_step.h"
#include "engine/invariants.h"
#include "engine/mask_filler.h"
#include "engine/model_runner.h"
#include "engine/prefix_store.h"
#include "engine/scheduler.h"
#include "engine/step_pace.h"

namespace deltaserve {

struct CoreOptions {
  int32_t num_blocks = 0;
  int32_t num_state_slots = 0;
  int32_t num_snapshots = 0;     // state slots behind those, for the prefix cache
  int64_t state_slot_bytes = 0;  // for the figures only
  int32_t vocab_size = 0;        // tokens that may be drawn
  PlaceholderIds placeholders;   // of pictures, if the runner encodes any
  SchedulerOptions scheduler;
  PrefixCacheOptions prefix_cache;
  double inter_token_target_seconds = 0.0;  // see StepPace
  bool async_scheduling = false;            // launch steps ahead; needs a runner that runs ahead
  // The time, if not the machine's: for simulations.
  std::function<RequestTimes::Clock::time_point()> clock = {};
};

class EngineCore {
 public:
  // `runner` must outlive this.
  EngineCore(const CoreOptions& options, ModelRunner& runner);

  // A request that check_request accepts, under an id not used before. Draws its seed if it has
  // none.
  void add(RequestId id, Request request,
           RequestTimes::Clock::time_point submitted = RequestTimes::Clock::now());
  // Unknown ids and choices that have ended are ignored.
  void abort(RequestId id);
  void abort_choice(RequestId id, int32_t index);
  void abort_all();
  void fail_all(const Error& error);

  // Brings in the prefixes that a directory keeps, before the first request; needs a prefix cache.
  void open_store(const PrefixStoreOptions& options);
  // Writes the named prefixes of the cache there, if there is a store.
  void save_prefixes();

  bool has_work() const { return !requests_.empty(); }
  void step();

  // What happened since the last call, at most one entry a request.
  std::vector<RequestOutput> take_outputs();
  int64_t num_waiting() const { return scheduler_.num_waiting(); }
  EngineStats stats() const;
  EngineSnapshot snapshot() const;

 private:
  EngineStep& other(const EngineStep& step) { return &step == &steps_[0] ? steps_[1] : steps_[0]; }
  void run_step(EngineStep& step);
  bool plan_step(EngineStep& step);
  void build_input(EngineStep& step);
  void with_masks(const EngineStep& step, const std::function<void()>& run);
  std::optional<std::string> launch_next(const EngineStep& step);
  void encode_pictures(EngineStep& step);
  void fail_pictures(const std::string& reason);
  void record_time(const EngineStep& step);
  void note_scheduled(const StepPlan& plan);
  static StepWork planned_work(const EngineStep& step);
  RequestTimes::Clock::time_point now() const;
  void commit_step(EngineStep& step);
  void commit_sequence(const ScheduledSequence& scheduled, const SampledToken* sampled,
                       std::span<PlannedSnapshot> snapshots, std::span<Sequence* const> forks);
  bool commit_prompt_logprobs(const ScheduledSequence& scheduled, const SampledToken* sampled);
  void commit_token(Sequence& sequence, const SampledToken& sampled);
  void commit_forced(Sequence& sequence);
  void report_token(Sequence& sequence, int32_t token);
  void fail_step(EngineStep& step, const std::string& reason);
  void fail_request(RequestState& request, const Error& error);
  void fail_non_finite(RequestState& request);
  void end_choice(Sequence& sequence, FinishReason reason);
  void count_finish(FinishReason reason);
  void forget_ended();
  RequestOutput& output_of(RequestState& request);
  ChoiceOutput& output_of(Sequence& sequence);

  int32_t vocab_size_;
  PlaceholderIds placeholders_;
  int64_t max_num_seqs_;
  int64_t max_num_batched_tokens_;
  int64_t state_slot_bytes_;
  ModelRunner* runner_;
  BlockPool blocks_;
  StatePool slots_;
  StatePool snapshots_;
  PrefixCache cache_;
  EncoderCache encoded_;
  PictureGate pictures_;
  Scheduler scheduler_;
  StepPace pace_;
  std::function<RequestTimes::Clock::time_point()> clock_;
  std::optional<PrefixStore> store_;
  uint64_t next_arrival_ = 0;
  std::unordered_map<RequestId, std::unique_ptr<RequestState>> requests_;
  struct Ended {
    RequestId id;
    int64_t last_step;  // that may hold its sequences
  };
  std::vector<Ended> ended_;  // forgotten when that step has been committed

  bool async_scheduling_;
  bool ahead_ = false;             // steps_[current_] was launched ahead and runs
  bool device_is_behind_ = false;  // the last step was not waited for
  size_t current_ = 0;             // of steps_: the one to be committed next
  std::array<EngineStep, 2> steps_;
  int64_t num_planned_ = 0;    // steps so far
  int64_t num_committed_ = 0;  // of them
  MaskFiller masks_;

  std::vector<RequestOutput> outputs_;
  uint64_t output_round_ = 1;
  EngineStats totals_;  // counters only
};

}  // namespace deltaserve
