// The cost model against the times that kernels and budgets of the two shapes were measured or
// planned at on an H200.
#include <gtest/gtest.h>

#include "gpu_cost.h"
#include "model/presets.h"

namespace deltaserve {
namespace {

ModelConfig config_of(const char* preset) {
  return parse_model_config(preset_config(preset, {}).value()).value();
}

void add_sequence(Batch& batch, int32_t rows, int32_t context, bool recurrent) {
  if (batch.cu_seqlens.empty()) batch.cu_seqlens.push_back(0);
  batch.cu_seqlens.push_back(batch.cu_seqlens.back() + rows);
  batch.context_lens.push_back(context);
  batch.recurrent.push_back(recurrent ? 1 : 0);
  batch.state_slots.push_back(batch.num_seqs());
  batch.input_ids.resize(batch.input_ids.size() + static_cast<size_t>(rows));
  batch.logits_rows.push_back(batch.cu_seqlens.back() - 1);
}

Batch decode(int32_t seqs, int32_t context) {
  Batch batch;
  for (int32_t i = 0; i < seqs; ++i) add_sequence(batch, 1, context, true);
  return batch;
}

Batch prefill(int32_t tokens) {
  Batch batch;
  add_sequence(batch, tokens, 0, false);
  return batch;
}

GpuRates without_host() {
  GpuRates rates;
  rates.host_step = 0.0;
  return rates;
}

TEST(GpuCost, Dense27B) {
  const GpuCost cost(config_of("qwen3.5-27b"), without_host());
  EXPECT_NEAR(cost.step_seconds(decode(1, 1024)), 12.2e-3, 0.4e-3);
  EXPECT_NEAR(cost.step_seconds(decode(32, 1024)), 17.2e-3, 0.6e-3);
  EXPECT_NEAR(cost.step_seconds(prefill(8192)), 0.61, 0.03);
  EXPECT_NEAR(static_cast<double>(cost.weight_bytes()), 53.8e9, 0.5e9);
  EXPECT_EQ(cost.kv_block_bytes(), 1 << 20);
  EXPECT_NEAR(static_cast<double>(cost.state_bytes()) / (1 << 20), 147.0, 0.5);
}

TEST(GpuCost, Mixture35B) {
  const GpuCost cost(config_of("qwen3.5-35b-a3b"), without_host());
  EXPECT_NEAR(cost.step_seconds(decode(1, 1024)), 1.94e-3, 0.15e-3);
  EXPECT_NEAR(cost.step_seconds(prefill(8192)), 0.10, 0.015);
  EXPECT_NEAR(static_cast<double>(cost.weight_bytes()), 70e9, 2e9);
}

TEST(GpuCost, WhatGrowsCosts) {
  const GpuCost cost(config_of("qwen3.5-27b"), without_host());
  EXPECT_GT(cost.step_seconds(decode(2, 1024)), cost.step_seconds(decode(1, 1024)));
  EXPECT_GT(cost.step_seconds(decode(8, 100'000)), cost.step_seconds(decode(8, 1024)));
  Batch far;
  add_sequence(far, 4096, 100'000, false);
  EXPECT_GT(cost.step_seconds(far), 1.5 * cost.step_seconds(prefill(4096)));
  Batch copying = decode(1, 1024);
  copying.restores.resize(1);
  const double copy = cost.step_seconds(copying) - cost.step_seconds(decode(1, 1024));
  EXPECT_NEAR(copy, 79e-6, 3e-6);
}

// Cutting a sequence for snapshots repeats nothing: its chunks are the same ones.
TEST(GpuCost, PhasesOfOneSequenceCostItsChunksOnce) {
  const GpuCost cost(config_of("qwen3.5-27b"), without_host());
  Batch cut;
  add_sequence(cut, 2048, 0, false);
  cut.phase_ends.push_back(1);
  add_sequence(cut, 2048, 2048, false);
  cut.phase_ends.push_back(2);
  cut.logits_rows = {4095};
  EXPECT_NEAR(cost.step_seconds(cut), cost.step_seconds(prefill(4096)), 2e-3);
}

}  // namespace
}  // namespace deltaserve
