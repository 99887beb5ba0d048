// The engine: one thread that owns scheduler, pools and model runner without locks. Other threads
// submit and abort through a bounded inbox; outputs of a step leave in one call of the sink.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/request.h"
#include "model/model.h"

namespace deltaserve {

struct EngineOptions {
  int64_t max_model_len = 0;  // 0: the longest that the model knows and the KV cache holds
  int64_t max_num_seqs = 64;  // running at once
  int64_t max_num_batched_tokens = 2048;  // token budget of a step; >= kChunkSize + max_num_seqs
  int64_t max_queue_len = 1024;           // waiting choices; further requests get kTooManyRequests
  int64_t kv_cache_memory_bytes = 0;  // 0: what fits in memory_utilization of free memory, <= 4 GiB
  double memory_utilization = 0.9;    // of the backend's free memory, in (0, 1]
  // Prompt tokens of a step beside decodes, at most; >= kChunkSize. 0: the rest of the budget.
  int64_t long_prefill_token_threshold = 0;
  // Prompts are read in pieces so small that streams go on within this time, if a chunk allows it;
  // 0: no limit.
  double inter_token_target_seconds = 0.25;
  bool fair_share = false;  // tenants of one priority take turns
  // Decode steps are launched while the one before runs, where the device can; the same tokens.
  bool async_scheduling = true;
  bool enable_prefix_caching = true;
  bool prefix_cache_answers = true;        // see PrefixCacheOptions::reuse_answers
  int64_t prefix_cache_memory_bytes = -1;  // for state snapshots; -1: a share of what is free
  int64_t swap_space_bytes = 0;        // of host memory for what the prefix cache has no room for
  int64_t prefix_cache_interval = -1;  // tokens between snapshots of long prompts; 0: none; -1: by
                                       // the memory there is
  std::filesystem::path prefix_cache_dir;  // keeps named prefixes over a restart; empty: nowhere
  int64_t prefix_cache_dir_bytes = int64_t{4} << 30;  // of all its files
  std::string cache_fingerprint;      // of what must be the same for those files to be of use
  int64_t max_frame_patches = 65536;  // of a picture, which one of 4096 x 4096 pixels has; 0: none
  int64_t encoder_cache_tokens = -1;  // embeddings of pictures that are held; -1: see step_limits
  int64_t sampling_vocab_size = 0;    // tokens at and above it are padding; 0: the model's own
};

struct MemoryPlan {  // printed at start; all of it is allocated before the first request
  int64_t weight_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t kv_bytes = 0;
  int64_t state_bytes = 0;
  int64_t snapshot_bytes = 0;
  int64_t swap_bytes = 0;  // of host memory
  int64_t num_blocks = 0;
  int64_t num_state_slots = 0;
  int64_t num_snapshots = 0;      // state slots of the prefix cache, beside those
  int64_t snapshot_interval = 0;  // chunks between snapshots of long prompts; 0: none
  int64_t max_model_len = 0;
};

// Counters and gauges as of the last step, for /metrics. Copied out under a lock. A choice of a
// request counts as one where sequences and finishes are counted, its prompt once a request.
struct EngineStats {
  int64_t num_running = 0;
  int64_t num_waiting = 0;
  int64_t num_preemptions = 0;
  int64_t num_steps = 0;
  int64_t num_steps_ahead = 0;  // of them, launched before the one before had ended
  int64_t prompt_tokens = 0;
  int64_t generation_tokens = 0;
  int64_t requests_stop = 0;
  int64_t requests_length = 0;
  int64_t requests_abort = 0;
  int64_t requests_error = 0;
  double kv_cache_usage = 0.0;      // share of blocks that running sequences use
  int64_t prefix_query_tokens = 0;  // prompt tokens of admitted sequences
  int64_t prefix_hit_tokens = 0;    // of them, found in the prefix cache
  int64_t recomputed_tokens = 0;    // computed again after a preemption
  int64_t num_snapshots = 0;        // states that the prefix cache holds now
  int64_t snapshot_bytes = 0;       // their size
  int64_t cached_blocks = 0;        // KV blocks that the prefix cache holds, in use or not
  int64_t evicted_blocks = 0;
  int64_t evicted_snapshots = 0;
  int64_t swapped_blocks = 0;      // KV blocks on the host now
  int64_t swapped_snapshots = 0;   // snapshots there
  int64_t swapped_in_blocks = 0;   // brought back so far
  int64_t swapped_out_blocks = 0;  // copied to the host so far
  int64_t encoder_queries = 0;     // images and videos that prompts needed, beyond cached prefixes
  int64_t encoder_hits = 0;        // of them, encoded for an earlier request or being so
  int64_t encoded_items = 0;       // encoded so far
};

// Called on the engine thread after each step with everything the step produced; must not block.
using OutputSink = std::function<void(std::vector<RequestOutput>&& outputs)>;

class Engine {
 public:
  virtual ~Engine() = default;

  // Starts the engine thread. The sink must outlive the engine or stay callable until stop().
  virtual void start(OutputSink sink) = 0;

  // Thread-safe. Errors: kInvalidArgument for a request that cannot be run (with api_code
  // context_length_exceeded if prompt + max_tokens can never fit), kTooManyRequests if the queue is
  // full, kUnavailable while stopping.
  // Never waits for the sink: a caller may hold a lock that the sink takes too, so that no output
  // arrives before the id is known.
  virtual Result<RequestId> submit(Request request) = 0;

  // Thread-safe; the sequence's blocks and state are free within one step. Unknown ids are ignored.
  virtual void abort(RequestId id) = 0;

  // The same for one choice of a request whose others go on (a stop string was found in its text).
  // The choice reports kAbort once; choices that have ended are ignored.
  virtual void abort_choice(RequestId id, int32_t index) = 0;

  // Refuses new requests, lets running ones finish for up to `drain_seconds`, then aborts the rest
  // and joins the thread. Every accepted request gets its finished output before this returns.
  virtual void stop(double drain_seconds) = 0;

  virtual const MemoryPlan& memory_plan() const = 0;
  virtual EngineStats stats() const = 0;
  virtual bool healthy() const = 0;                   // false once the engine thread has died
  virtual std::string failure() const { return {}; }  // what it died of, "" while it lives
};

// The plan for a loaded model under these options; `free_memory` is the backend's, weights in
// place. Errors: an option out of range, limits that do not fit, a max_model_len that cannot be
// served (with the longest that can).
Result<MemoryPlan> plan_memory(const Model& model, size_t free_memory,
                               const EngineOptions& options);

// Allocates the pools. `model` must outlive the engine.
Result<std::unique_ptr<Engine>> make_engine(Model& model, const EngineOptions& options);

}  // namespace deltaserve
