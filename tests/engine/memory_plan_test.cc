// The division of memory, and refusals that name a figure which works.
#include <gtest/gtest.h>

#include <cmath>

#include "cache/block_table.h"
#include "engine/engine.h"
#include "engine/step_limits.h"
#include "fake_model.h"

namespace deltaserve {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

EngineOptions small_options() {
  EngineOptions options;
  options.max_num_seqs = 4;
  return options;
}

TEST(MemoryPlan, HoldsAllSequencesAtFullLengthIfMemoryAllows) {
  const FakeModel model;
  const Result<MemoryPlan> plan = plan_memory(model, 8 * kGiB, small_options());
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->max_model_len, 4096);
  EXPECT_EQ(plan->num_blocks, 4 * 256) << "no more than the sequences can use";
  EXPECT_EQ(plan->kv_bytes, 4 * 256 * (1 << 16));
  EXPECT_EQ(plan->num_state_slots, 4);
  EXPECT_EQ(plan->state_bytes, 4 * (1 << 18));
  EXPECT_EQ(plan->weight_bytes, 1 << 20);
  EXPECT_EQ(plan->workspace_bytes, model.workspace_bytes(step_limits(small_options(), 4096)));
}

TEST(MemoryPlan, TakesAtMostFourGiBUnlessToldOtherwise) {
  FakeModel model;
  model.config_.max_position_embeddings = 1 << 20;
  EngineOptions options = small_options();
  const Result<MemoryPlan> plan = plan_memory(model, 64 * kGiB, options);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kv_bytes, int64_t{4} << 30);
  options.kv_cache_memory_bytes = int64_t{6} << 30;
  EXPECT_EQ(plan_memory(model, 64 * kGiB, options)->kv_bytes, int64_t{6} << 30);
}

TEST(MemoryPlan, TakesAllOfADevicesOwnMemory) {
  FakeModel model;
  model.memory_.own_memory = true;
  model.config_.max_position_embeddings = 1 << 20;
  const Result<MemoryPlan> plan = plan_memory(model, 64 * kGiB, small_options());
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kv_bytes, int64_t{16} << 30) << "all that four sequences can use";
  EXPECT_EQ(plan->num_snapshots, 1024);
}

TEST(MemoryPlan, StaysWithinTheUtilization) {
  const FakeModel model;
  EngineOptions options = small_options();
  options.memory_utilization = 0.5;
  const size_t free_memory = 64 << 20;
  const Result<MemoryPlan> plan = plan_memory(model, free_memory, options);
  ASSERT_TRUE(plan.has_value());
  const int64_t sum =
      plan->kv_bytes + plan->state_bytes + plan->snapshot_bytes + plan->workspace_bytes;
  EXPECT_LE(sum, 32 << 20);
  EXPECT_GE(sum, (32 << 20) - (1 << 17));
}

TEST(MemoryPlan, ReducesAnAutomaticLength) {
  const FakeModel model;
  EngineOptions options = small_options();
  options.kv_cache_memory_bytes = 100 * (1 << 16) + 5;
  const Result<MemoryPlan> plan = plan_memory(model, kGiB, options);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->num_blocks, 100);
  EXPECT_EQ(plan->max_model_len, 1600);
}

TEST(MemoryPlan, RefusesAnExplicitLengthThatDoesNotFitAndNamesTheLongest) {
  const FakeModel model;
  EngineOptions options = small_options();
  options.kv_cache_memory_bytes = 100 * (1 << 16);
  options.max_model_len = 1601;
  const Result<MemoryPlan> refused = plan_memory(model, kGiB, options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().param, "max_model_len");
  EXPECT_NE(refused.error().message.find("1600"), std::string::npos) << refused.error().message;
  options.max_model_len = 1600;
  EXPECT_TRUE(plan_memory(model, kGiB, options).has_value());
}

TEST(MemoryPlan, ExplicitLengthLimitsTheBlocks) {
  const FakeModel model;
  EngineOptions options = small_options();
  options.max_model_len = 1000;
  const Result<MemoryPlan> plan = plan_memory(model, 8 * kGiB, options);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->max_model_len, 1000);
  EXPECT_EQ(plan->num_blocks, 4 * blocks_for_tokens(1000));
}

void expect_refused(const EngineOptions& options, const std::string& param, size_t free_memory) {
  const FakeModel model;
  const Result<MemoryPlan> plan = plan_memory(model, free_memory, options);
  ASSERT_FALSE(plan.has_value()) << param;
  EXPECT_EQ(plan.error().param, param) << plan.error().message;
}

TEST(MemoryPlan, GivesSnapshotsAShareOfWhatIsLeft) {
  const FakeModel model;
  EngineOptions options = small_options();
  const size_t free_memory = 64 << 20;
  const Result<MemoryPlan> plan = plan_memory(model, free_memory, options);
  ASSERT_TRUE(plan.has_value());
  const auto usable = static_cast<int64_t>(0.9 * static_cast<double>(free_memory));
  const int64_t left =
      usable - plan->state_bytes - model.workspace_bytes(step_limits(options, 4096));
  EXPECT_EQ(plan->num_snapshots, left / 4 / (1 << 18));
  EXPECT_EQ(plan->snapshot_bytes, plan->num_snapshots * (1 << 18));
  EXPECT_GE(plan->snapshot_interval, 8);
  options.enable_prefix_caching = false;
  EXPECT_EQ(plan_memory(model, free_memory, options)->num_snapshots, 0);
  EXPECT_EQ(plan_memory(model, free_memory, options)->snapshot_bytes, 0);
}

TEST(MemoryPlan, TakesSnapshotsAsTold) {
  const FakeModel model;
  EngineOptions options = small_options();
  options.prefix_cache_memory_bytes = 10 * (1 << 18) + 7;
  options.prefix_cache_interval = 1000;
  const Result<MemoryPlan> plan = plan_memory(model, kGiB, options);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->num_snapshots, 10);
  EXPECT_EQ(plan->snapshot_interval, 16);
  options.prefix_cache_memory_bytes = 0;
  EXPECT_EQ(plan_memory(model, kGiB, options)->num_snapshots, 0);
  EXPECT_EQ(step_limits(options, 1).max_seqs, 4 + kMaxStepSnapshots);
}

TEST(MemoryPlan, RefusesOptionsOutOfRange) {
  EngineOptions options = small_options();
  options.max_num_batched_tokens = kChunkSize + 3;
  expect_refused(options, "max_num_batched_tokens", kGiB);
  options = small_options();
  options.max_model_len = 4097;
  expect_refused(options, "max_model_len", kGiB);
  options.max_model_len = -1;
  expect_refused(options, "max_model_len", kGiB);
  options = small_options();
  options.max_num_seqs = 0;
  expect_refused(options, "max_num_seqs", kGiB);
  options = small_options();
  options.max_queue_len = 0;
  expect_refused(options, "max_queue_len", kGiB);
  options = small_options();
  options.sampling_vocab_size = 1001;
  expect_refused(options, "sampling_vocab_size", kGiB);
  for (const double utilization : {0.0, -1.0, 1.5, std::nan("")}) {
    options = small_options();
    options.memory_utilization = utilization;
    expect_refused(options, "memory_utilization", kGiB);
  }
  options = small_options();
  options.prefix_cache_memory_bytes = -2;
  expect_refused(options, "prefix_cache_memory_bytes", kGiB);
  options.prefix_cache_memory_bytes = kGiB;
  expect_refused(options, "prefix_cache_memory_bytes", kGiB);
  options = small_options();
  options.prefix_cache_interval = -2;
  expect_refused(options, "prefix_cache_interval", kGiB);
  options = small_options();
  options.inter_token_target_seconds = -1.0;
  expect_refused(options, "inter_token_target", kGiB);
  options = small_options();
  options.long_prefill_token_threshold = kChunkSize - 1;
  expect_refused(options, "long_prefill_token_threshold", kGiB);
  options = small_options();
  options.kv_cache_memory_bytes = -1;
  expect_refused(options, "kv_cache_memory_bytes", kGiB);
}

TEST(MemoryPlan, RefusesWhatDoesNotFitAtAll) {
  expect_refused(small_options(), "max_num_seqs", 1 << 20);
  EngineOptions options = small_options();
  options.kv_cache_memory_bytes = int64_t{1} << 40;
  expect_refused(options, "max_num_seqs", kGiB);
  options.kv_cache_memory_bytes = 100;  // not one block
  expect_refused(options, "max_model_len", kGiB);
}

TEST(MemoryPlan, ServesAModelWithoutFullAttention) {
  FakeModel model;
  model.memory_.kv_block_bytes = 0;
  const Result<MemoryPlan> plan = plan_memory(model, kGiB, small_options());
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kv_bytes, 0);
  EXPECT_EQ(plan->max_model_len, 4096);
  EXPECT_EQ(plan->num_blocks, 4 * 256);
}

}  // namespace
}  // namespace deltaserve
