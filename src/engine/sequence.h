// One choice of a request on its way through the engine: its tokens, how many of them the caches
// hold, and the blocks and the state slot that hold them. `RequestState` is what the choices of a
// request share.
//
// The tokens of a sequence are its prompt, computed in chunks, and its output, computed one by one
// ("recurrent"). The last output token has been drawn but not yet computed, and neither have those
// that a grammar forces behind it. What it took from the prefix cache counts as computed; it may
// hold answers of earlier requests, computed one by one. A preempted sequence has computed nothing
// and runs the same rows in the same ways again, so that its bits are the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "cache/block_table.h"
#include "cache/state_pool.h"
#include "engine/encoder_cache.h"
#include "engine/request.h"
#include "engine/sampler_state.h"
#include "engine/sequence_prefix.h"
#include "model/prompt_layout.h"

namespace deltaserve {

// Tokens that a sequence takes in one step without drawing them, at most: enough for the fixed part
// of a tool call, and few beside a prompt's chunk.
inline constexpr int64_t kMaxForcedTokens = 8;

class Sequence;

enum class SequenceStatus : uint8_t {
  kWaiting,    // not admitted yet
  kRunning,    // owns a state slot and blocks
  kPreempted,  // lost both, will be computed again
  kFinished,
};

struct RequestState {
  RequestId id = 0;
  Request request;
  PromptLayout layout;                             // of its prompt
  std::vector<std::unique_ptr<Sequence>> choices;  // [n]
  int32_t num_unfinished = 0;
  bool prompt_counted = false;  // in EngineStats::prompt_tokens
  RequestTimes times;
  // Entry i belongs to prompt token i; sent, and emptied, when it is as long as the prompt.
  std::vector<std::optional<TokenLogprob>> prompt_logprobs;
  int64_t num_scored = 0;  // prompt tokens that have had their entry, the empty first one included
  std::optional<int64_t> num_cached_tokens;  // of the choice that was admitted first
  // The choice that computes the prompt now. Those that have no output yet wait for it and take
  // over its state at the prompt's end.
  Sequence* prefilling = nullptr;
  // Where this request's part of the outputs being collected stands, valid in that round only.
  size_t output_index = 0;
  uint64_t output_round = 0;
};

// Embeddings that a sequence needs to compute its prompt; pinned while they are.
struct SequencePictures {
  int64_t from = -1;             // those behind this token; -1: it has not asked
  std::vector<EncodedPin> pins;  // of each of the request's items; null: not needed
};

class Sequence {
 public:
  // `arrival` grows with every sequence of the engine. `owner` and `blocks` must outlive this.
  Sequence(RequestState& owner, int32_t index, uint64_t arrival, BlockPool& blocks,
           int32_t vocab_size);

  RequestState& owner() const { return *owner_; }
  const Request& request() const { return owner_->request; }
  int32_t index() const { return index_; }
  uint64_t arrival() const { return arrival_; }
  SequenceStatus status() const { return status_; }
  // The order of service: priority, then first come, first served.
  bool ranks_before(const Sequence& other) const {
    return std::tuple(request().priority, arrival_) <
           std::tuple(other.request().priority, other.arrival_);
  }

  int64_t prompt_len() const { return static_cast<int64_t>(request().prompt_token_ids.size()); }
  int64_t num_tokens() const { return prompt_len() + static_cast<int64_t>(output_.size()); }
  int64_t num_computed() const { return num_computed_; }
  bool in_prompt() const { return num_computed_ < prompt_len(); }
  bool has_output() const { return !output_.empty(); }
  // How a whole chunk of its tokens is computed.
  ChunkCode chunk_code(int64_t chunk) const;
  bool is_recurrent(int64_t i) const;       // whether token i is computed one by one
  int64_t same_way_until(int64_t i) const;  // the first token after i computed in the other way
  int32_t token(int64_t i) const;
  // M-RoPE coordinates (T, H, W) of token i; the three are equal for text.
  std::array<int32_t, 3> position(int64_t i) const;

  BlockTable& table() { return table_; }
  const BlockTable& table() const { return table_; }
  const std::optional<StateSlot>& slot() const { return slot_; }
  SequencePictures& pictures() { return pictures_; }
  const SequencePictures& pictures() const { return pictures_; }
  SequencePrefix& prefix() { return prefix_; }
  const SequencePrefix& prefix() const { return prefix_; }
  SamplerState& sampler() { return sampler_; }
  const SamplerState& sampler() const { return sampler_; }

  // Whether this choice computes the prompt's logprobs for its request.
  bool scores_prompt() const { return index_ == 0 && request().prompt_logprobs >= 0; }

  // Begins behind `num_tokens` tokens whose blocks it shares; 0 takes that back.
  void resume_at(int64_t num_tokens);
  void admit(StateSlot slot);
  // Becomes a running copy of `leader`, another choice, whose prompt is computed in this step:
  // shares its full blocks and has own ones, still empty, for the rest. False if there are none.
  bool fork(Sequence& leader, StateSlot slot);
  void finish_fork(const Sequence& leader, PrefixIndex* index);  // the step was run
  void preempt();
  void finish();
  void mark_computed(int64_t num_new_tokens);
  int64_t num_lost() const { return num_lost_; }  // tokens computed before it was preempted
  void append(int32_t token);                     // drawn by the sampler
  void append_forced(int32_t token);              // behind a drawn one, not drawn itself

 private:
  void release();

  RequestState* owner_;
  int32_t index_;
  uint64_t arrival_;
  SequenceStatus status_ = SequenceStatus::kWaiting;
  std::vector<int32_t> output_;
  int64_t num_computed_ = 0;
  int64_t num_lost_ = 0;
  BlockTable table_;
  SequencePrefix prefix_;
  SequencePictures pictures_;
  std::optional<StateSlot> slot_;
  SamplerState sampler_;
};

}  // namespace deltaserve
