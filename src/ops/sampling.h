// Sampling of one token a row from float32 logits. The order is the field's: bans and bias,
// repetition, frequency and presence penalties, temperature, min_p, top_k, top_p, draw.
// The draw is the inverse CDF over the kept tokens in ascending id with a uniform number from a
// counter-based generator keyed by (seed, position): the same request gives the same tokens
// whatever else is in the batch.
#pragma once

#include <cstdint>
#include <vector>

namespace deltaserve {

struct LogitBias {
  int32_t token = 0;
  float bias = 0.0F;
};

struct TokenCount {  // a token that occurred in the prompt or the output so far
  int32_t token = 0;
  int32_t in_output = 0;  // occurrences in the output; 0: in the prompt only
};

struct SamplingRow {
  float temperature = 1.0F;         // 0: the largest logit, lowest id among equals
  float top_p = 1.0F;               // in [0, 1]; the most likely token is always kept
  int32_t top_k = 0;                // 0: off
  float min_p = 0.0F;               // relative to the most likely token
  float repetition_penalty = 1.0F;  // on prompt and output tokens
  float frequency_penalty = 0.0F;   // times in_output
  float presence_penalty = 0.0F;    // once for in_output > 0
  uint64_t seed = 0;
  int64_t position = 0;  // index of the drawn token within the output
  const TokenCount* counts = nullptr;
  int32_t num_counts = 0;
  // >= 0, in begin_sample only: the output has one token more, which `counts` lacks: what this row
  // of the draw begun before drew.
  int32_t drawn_row = -1;
  const LogitBias* logit_bias = nullptr;
  int32_t num_logit_bias = 0;
  const int32_t* banned = nullptr;  // never drawn (eos while min_tokens is not reached, ...)
  int32_t num_banned = 0;
  const uint64_t* allowed = nullptr;  // bit per token, or null: grammar mask
  int32_t num_logprobs = -1;  // -1: none; n: the sampled token's logprob and the n most likely
};

struct TopLogprob {
  int32_t token = 0;
  float logprob = 0.0F;
};

struct SampledToken {
  int32_t token = -1;
  bool finite = true;  // false: the row held a NaN or +Inf, or no token was allowed; token is -1
  // Of log_softmax of the unmodified logits; filled if num_logprobs >= 0.
  float logprob = 0.0F;
  std::vector<TopLogprob> top;  // descending
};

struct SampleArgs {
  int64_t B = 0;
  int64_t V = 0;  // tokens at and above it (padding rows of the head) are never drawn
  const float* logits = nullptr;  // [B, V]
  int64_t logits_stride = 0;
  const SamplingRow* rows = nullptr;  // [B]
  SampledToken* out = nullptr;        // [B]
};

// Draws that have begun and not ended, at most: of the step that runs and of the one behind it.
inline constexpr int32_t kMaxOpenDraws = 2;

// ids[t] = the token of row rows[t] of the draw that was begun last. 0 if that row drew none: what
// is computed of it is thrown away.
struct TakeDrawnArgs {
  int64_t T = 0;
  const int32_t* rows = nullptr;  // [T] in backend memory; -1: ids[t] stays as it is
  int32_t* ids = nullptr;         // [T] in backend memory
};

// row.counts with one more occurrence of `token` in the output; unchanged if it is below zero.
std::vector<TokenCount> count_once_more(const SamplingRow& row, int32_t token);

// Uniform in [0, 1) for (seed, position): Philox4x32-10, 24 bits.
float uniform_draw(uint64_t seed, int64_t position);

}  // namespace deltaserve
