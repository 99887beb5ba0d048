// What the host and the kernels of sampling share: one row's settings and results in device memory.
#pragma once

#include <cstdint>

#include "backends/cuda/cuda_context.h"
#include "ops/sampling.h"

namespace deltaserve {

struct CudaSamplingRow {
  const float* logits = nullptr;  // [V], not changed
  float* adjusted = nullptr;      // [V] scratch; null if nothing is to be adjusted
  float temperature = 1.0F;
  float top_p = 1.0F;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;
  float frequency_penalty = 0.0F;
  float presence_penalty = 0.0F;
  float uniform = 0.0F;  // uniform_draw(seed, position)
  int32_t top_k = 0;     // 0: off
  TokenCount* counts = nullptr;
  int32_t num_counts = 0;
  int32_t drawn_row = -1;  // >= 0: the last of the counts is a place for what that row drew
  int32_t num_logit_bias = 0;
  const LogitBias* logit_bias = nullptr;
  const int32_t* banned = nullptr;
  int32_t num_banned = 0;
  int32_t num_logprobs = -1;
  const uint64_t* allowed = nullptr;
  TopLogprob* top = nullptr;  // [num_logprobs], written
};

struct CudaSampledRow {
  int32_t token = -1;
  int32_t finite = 1;
  float logprob = 0.0F;
};

// Rows a launch: bounds the scratch for adjusted logits to 64 MB of a vocabulary of 248,320.
inline constexpr int64_t kSampleGroupRows = 64;
constexpr int64_t adjusted_logits_bytes(int64_t V) {
  return kSampleGroupRows * V * int64_t{sizeof(float)};
}

// Writes the adjusted logits of those of `rows` [B] that have a place for them.
void launch_adjust_logits(const CudaContext& context, const CudaSamplingRow* rows, int64_t B,
                          int64_t V);

// Of the draw that wrote `drawn`.
void launch_take_drawn(const CudaContext& context, const TakeDrawnArgs& args,
                       const CudaSampledRow* drawn);

// Counts in those of `rows` [B] that have a drawn_row what it drew in the draw that wrote `drawn`.
void launch_count_drawn(const CudaContext& context, const CudaSamplingRow* rows, int64_t B,
                        const CudaSampledRow* drawn);

// Draws a token a row by clusters of blocks; where there are none by single blocks, which draw the
// same.
void launch_sample_rows(const CudaContext& context, const CudaSamplingRow* rows,
                        CudaSampledRow* out, int64_t B, int64_t V);
void launch_sample_rows_by_blocks(const CudaContext& context, const CudaSamplingRow* rows,
                                  CudaSampledRow* out, int64_t B, int64_t V);

}  // namespace deltaserve
