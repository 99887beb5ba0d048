// Steps launched ahead over a real model on the CPU: input ids that are taken from the draw before,
// snapshots behind the step, two open draws. Bit by bit the logprobs of steps one after the other.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "fake_engine.h"
#include "loaded_model.h"
#include "same_bits.h"

namespace deltaserve {
namespace {

// The CPU works while it is called, and a step that was launched has ended; what the engine and the
// model do with one is the same.
class AheadRunner : public ModelRunner {
 public:
  explicit AheadRunner(std::unique_ptr<ModelRunner> runner) : runner_(std::move(runner)) {}
  void run(const Batch& batch, std::span<const SamplingRow> rows,
           std::span<SampledToken> sampled) override {
    wait_for_rows();
    runner_->run(batch, rows, sampled);
  }
  bool runs_ahead() const override { return true; }
  void launch(const Batch& batch, std::span<const SamplingRow> rows) override {
    wait_for_rows();
    runner_->launch(batch, rows);
  }
  void finish(std::span<SampledToken> sampled) override { runner_->finish(sampled); }
  CacheTransfer* transfer() override { return runner_->transfer(); }

 private:
  std::unique_ptr<ModelRunner> runner_;
};

Request random_request(uint64_t seed, int32_t vocab_size) {
  std::mt19937_64 random(seed);
  const auto between = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Request request;
  const int64_t shared = seed % 2 == 0 ? 128 : 0;  // prompts that begin alike
  for (int64_t i = 0; i < shared; ++i) request.prompt_token_ids.push_back(static_cast<int32_t>(i));
  const int64_t own = between(1, 90);
  for (int64_t i = 0; i < own; ++i) {
    request.prompt_token_ids.push_back(static_cast<int32_t>(between(0, vocab_size - 1)));
  }
  SamplingParams& sampling = request.sampling;
  sampling.max_tokens = between(40, 110);
  sampling.temperature = seed % 3 == 0 ? 0.0F : 0.9F;
  sampling.top_p = seed % 3 == 1 ? 0.9F : 1.0F;
  sampling.seed = seed;
  sampling.num_logprobs = 2;
  sampling.repetition_penalty = seed % 5 == 1 ? 1.2F : 1.0F;
  sampling.presence_penalty = seed % 5 == 2 ? 0.5F : 0.0F;
  sampling.min_tokens = seed % 4 == 0 ? 10 : 0;
  for (int32_t i = 0; i < 8; ++i) {
    request.eos_token_ids.push_back(static_cast<int32_t>(between(0, vocab_size - 1)));
  }
  return request;
}

TEST(AsyncModel, SameBitsAsStepsOneAfterTheOther) {
  constexpr int64_t kNumRequests = 14;
  const auto directory = std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-moe";
  const auto checkpoint = Checkpoint::open(directory).value();
  std::map<bool, std::map<RequestId, RequestRecord>> records;
  for (const bool ahead : {false, true}) {
    const FakeLimits limits = {.num_blocks = 120,
                               .max_num_seqs = 6,
                               .max_num_batched_tokens = 256,
                               .num_snapshots = 12,
                               .reuse_answers = false,
                               .async = ahead};
    EngineOptions engine_options;
    engine_options.max_num_seqs = limits.max_num_seqs;
    engine_options.max_num_batched_tokens = limits.max_num_batched_tokens;
    LoadedModel loaded(*checkpoint, {.compute_dtype = DType::kBF16, .threads = 1}, engine_options,
                       640, limits.num_blocks, limits.max_num_seqs + limits.num_snapshots);
    AheadRunner runner(std::move(loaded.runner));
    CoreOptions options = FakeEngine::core_options(limits);
    options.vocab_size = loaded.vocab_size;
    EngineCore core(options, runner);
    for (uint64_t i = 0; i < kNumRequests; ++i) core.add(i, random_request(i, loaded.vocab_size));
    Recorder recorder;
    while (core.has_work()) {
      core.step();
      EXPECT_EQ(find_violation(core.snapshot()), std::nullopt);
      recorder.take(core.take_outputs());
    }
    const EngineStats stats = core.stats();
    EXPECT_EQ(stats.num_steps_ahead > stats.num_steps / 2, ahead);
    EXPECT_GT(stats.requests_stop, 0);
    records[ahead] = std::move(recorder.records);
  }
  for (const auto& [id, record] : records[true]) {
    SCOPED_TRACE(testing::Message() << "request " << id);
    const ChoiceRecord& got = record.choices.at(0);
    const ChoiceRecord& wanted = records[false].at(id).choices.at(0);
    EXPECT_EQ(got.reason, wanted.reason);
    EXPECT_EQ(got.stop_token, wanted.stop_token);
    ASSERT_EQ(got.tokens, wanted.tokens);
    for (size_t i = 0; i < got.logprobs.size(); ++i) {
      expect_same_bits(got.logprobs[i], wanted.logprobs[i]);
    }
  }
}

}  // namespace
}  // namespace deltaserve
