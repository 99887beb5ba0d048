// The bundled model loads, and the CPU backend computes of it what the reference does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "model/model.h"
#include "ops/reference/reference_backend.h"
#include "tensor/checkpoint.h"

namespace deltaserve {
namespace {

constexpr int32_t kTokens = 70;  // beyond one chunk of the delta rule

// Logits after the last of kTokens arbitrary tokens.
std::vector<float> logits_of(const Checkpoint& checkpoint, Backend& backend) {
  auto loaded = load_model(checkpoint, backend);
  EXPECT_TRUE(loaded) << loaded.error().message;
  Model& model = *loaded.value();
  constexpr int32_t kBlocks = (kTokens + kBlockSize - 1) / kBlockSize;
  EXPECT_TRUE(model.allocate(
      {.max_tokens = kTokens, .max_seqs = 1, .max_model_len = kTokens, .max_logits_rows = 0},
      kBlocks, 1));
  Batch batch;
  for (int32_t t = 0; t < kTokens; ++t) {
    batch.input_ids.push_back((t * 97 + 31) % 4000);
    batch.slot_mapping.push_back(t);
  }
  for (int32_t i = 0; i < 3 * kTokens; ++i) {
    batch.positions.push_back(i % kTokens);
  }
  for (int32_t b = 0; b < kBlocks; ++b) {
    batch.block_tables.push_back(b);
  }
  batch.max_blocks_per_seq = kBlocks;
  batch.cu_seqlens = {0, kTokens};
  batch.context_lens = {0};
  batch.state_slots = {0};
  batch.recurrent = {0};
  batch.logits_rows = {kTokens - 1};
  model.forward(batch);
  std::vector<float> logits(static_cast<size_t>(model.config().vocab_size));
  backend.copy_to_host(logits.data(), model.logits(), logits.size() * sizeof(float));
  return logits;
}

TEST(TinyModel, CpuAgreesWithTheReference) {
  const auto checkpoint =
      Checkpoint::open(std::filesystem::path(DELTASERVE_SOURCE_DIR) / "models" / "tiny");
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const std::vector<float> expected = logits_of(**checkpoint, *make_reference_backend(DType::kF32));
  EXPECT_TRUE(std::ranges::all_of(expected, [](float value) { return std::isfinite(value); }));

  const auto cpu = make_cpu_backend({.compute_dtype = DType::kF32, .threads = 2, .isa = {}});
  ASSERT_TRUE(cpu) << cpu.error().message;
  const std::vector<float> values = logits_of(**checkpoint, **cpu);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t v = 0; v < values.size(); ++v) {
    ASSERT_NEAR(values[v], expected[v], 2e-3) << v;
  }
  EXPECT_EQ(std::ranges::max_element(values) - values.begin(),
            std::ranges::max_element(expected) - expected.begin());
}

}  // namespace
}  // namespace deltaserve
