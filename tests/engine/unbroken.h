// The reference for resumed sequences: one choice of a request computed from its first token to its
// last without scheduler, pools or cache, every chunk in the way that `inherited` says (prompts in
// chunks where it says nothing), then token by token.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "cache/prefix_node.h"
#include "engine/model_runner.h"
#include "engine/sampler_state.h"
#include "recorder.h"

namespace deltaserve {

// What a prompt with pictures has beside its tokens; of one without, positions count tokens.
struct UnbrokenPictures {
  std::vector<std::array<int32_t, 3>> positions;  // of the prompt's tokens
  int32_t position_behind = 0;                    // of the token behind it, on every axis
  // Of each token of the prompt the row of the model's vision embeddings that stands for it; -1: it
  // stands for itself.
  std::vector<int64_t> embeddings;
};

class UnbrokenRun {
 public:
  // The runner has blocks for the whole sequence and a state slot 0, and is used for nothing else
  // meanwhile.
  UnbrokenRun(ModelRunner& runner, const Request& request, int32_t choice, int32_t vocab_size,
              UnbrokenPictures pictures = {})
      : runner_(&runner),
        pictures_(std::move(pictures)),
        tokens_(request.prompt_token_ids),
        sampler_(request, choice, vocab_size),
        with_logprobs_(request.sampling.num_logprobs >= 0) {}

  ChoiceRecord run(std::span<const ChunkCode> inherited) {
    const auto prompt_len = static_cast<int64_t>(tokens_.size());
    int64_t at = 0;
    while (at < prompt_len) {
      const auto chunk = static_cast<size_t>(at / kChunkSize);
      const ChunkCode code = chunk < inherited.size() ? inherited[chunk] : ChunkCode{0};
      const int64_t border = static_cast<int64_t>(chunk + 1) * kChunkSize;
      const int64_t in_chunk = code == 0 ? border : border - kChunkSize + code - 1;
      const bool recurrent = at >= in_chunk;
      const int64_t end = recurrent ? at + 1 : std::min(in_chunk, prompt_len);
      step(at, end, recurrent, end == prompt_len);
      at = end;
    }
    while (!record_.reason) {
      step(at, at + 1, true, true);
      ++at;
    }
    return record_;
  }

 private:
  void step(int64_t begin, int64_t end, bool recurrent, bool samples) {
    const auto count = static_cast<size_t>(end - begin);
    const auto num_blocks = static_cast<size_t>(end + kBlockSize - 1) / kBlockSize;
    Batch batch;
    batch.input_ids.assign(tokens_.begin() + begin, tokens_.begin() + end);
    batch.slot_mapping.resize(count);
    std::iota(batch.slot_mapping.begin(), batch.slot_mapping.end(), static_cast<int32_t>(begin));
    for (size_t axis = 0; axis < 3; ++axis) {
      for (int64_t i = begin; i < end; ++i) batch.positions.push_back(position(i, axis));
    }
    for (int64_t i = begin; i < std::min(end, std::ssize(pictures_.embeddings)); ++i) {
      const int64_t row = pictures_.embeddings[static_cast<size_t>(i)];
      if (row < 0) continue;
      batch.embeddings.push_back({.row = static_cast<int32_t>(i - begin), .from = row, .count = 1});
    }
    batch.cu_seqlens = {0, static_cast<int32_t>(count)};
    batch.context_lens = {static_cast<int32_t>(begin)};
    batch.block_tables.resize(num_blocks);
    std::iota(batch.block_tables.begin(), batch.block_tables.end(), 0);
    batch.max_blocks_per_seq = static_cast<int32_t>(num_blocks);
    batch.state_slots = {0};
    batch.recurrent = {recurrent ? uint8_t{1} : uint8_t{0}};
    batch.phase_ends = {1};
    if (samples) batch.logits_rows = {static_cast<int32_t>(count) - 1};
    std::vector<SamplingRow> rows;
    if (samples) rows.push_back(sampler_.next_row());
    std::vector<SampledToken> sampled(rows.size());
    runner_->run(batch, rows, sampled);
    if (samples) take(sampled[0]);
  }

  int32_t position(int64_t i, size_t axis) const {
    const auto prompt_len = std::ssize(pictures_.positions);
    if (i < prompt_len) return pictures_.positions[static_cast<size_t>(i)][axis];
    return pictures_.position_behind + static_cast<int32_t>(i - prompt_len);
  }

  void take(const SampledToken& sampled) {
    if (!sampled.finite) {
      record_.reason = FinishReason::kError;
      return;
    }
    tokens_.push_back(sampled.token);
    sampler_.record(sampled.token);
    record_.tokens.push_back(sampled.token);
    if (with_logprobs_) {
      record_.logprobs.push_back(
          {.token = sampled.token, .logprob = sampled.logprob, .top = sampled.top});
    }
    record_.reason = sampler_.finish_after(sampled.token);
    if (record_.reason == FinishReason::kStop) record_.stop_token = sampled.token;
  }

  ModelRunner* runner_;
  UnbrokenPictures pictures_;
  std::vector<int32_t> tokens_;
  SamplerState sampler_;
  bool with_logprobs_;
  ChoiceRecord record_;
};

}  // namespace deltaserve
