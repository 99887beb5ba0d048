// The engine over real models on the CPU: 64 requests of mixed lengths at once give, bit by bit,
// the tokens and logprobs that each gives alone, whatever the limits of a step and however often
// they are preempted.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <tuple>

#include "backends/cpu/cpu_backend.h"
#include "engine/step_limits.h"
#include "fake_engine.h"
#include "loaded_model.h"
#include "model/model.h"
#include "same_bits.h"

namespace deltaserve {
namespace {

constexpr int32_t kNumRequests = 64;

using Records = std::map<RequestId, RequestRecord>;

struct Outcome {
  Records records;
  int64_t num_preemptions = 0;
};

CpuOptions cpu_options(DType compute_dtype, int32_t threads) {
  CpuOptions options;
  options.compute_dtype = compute_dtype;
  options.threads = threads;
  return options;
}

Request mixed_request(int32_t i, int32_t vocab_size) {
  std::mt19937_64 random(static_cast<uint64_t>(i));
  const auto between = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Request request;
  const int64_t prompt_len = i % 8 == 0 ? between(100, 200) : between(1, 60);
  for (int64_t k = 0; k < prompt_len; ++k) {
    request.prompt_token_ids.push_back(static_cast<int32_t>(between(0, vocab_size - 1)));
  }
  SamplingParams& sampling = request.sampling;
  sampling.max_tokens = between(4, 32);
  sampling.temperature = i % 3 == 0 ? 0.0F : 0.8F;
  sampling.top_p = i % 3 == 1 ? 0.9F : 1.0F;
  sampling.repetition_penalty = i % 4 == 0 ? 1.3F : 1.0F;
  sampling.seed = 1000 + static_cast<uint64_t>(i);
  sampling.num_logprobs = 2;
  sampling.n = i % 16 == 5 ? 2 : 1;
  request.prompt_logprobs = i % 16 == 3 ? 1 : -1;
  return request;
}

class ModelTest : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override {
    const auto directory =
        std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / std::get<std::string>(GetParam());
    Result<std::unique_ptr<Checkpoint>> checkpoint = Checkpoint::open(directory);
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().message;
    checkpoint_ = std::move(*checkpoint);
  }

  // Runs all requests on a fresh model under these limits.
  Outcome run(const FakeLimits& limits, int32_t threads) {
    EngineOptions engine_options;
    engine_options.max_num_seqs = limits.max_num_seqs;
    engine_options.max_num_batched_tokens = limits.max_num_batched_tokens;
    const LoadedModel loaded(*checkpoint_, cpu_options(std::get<DType>(GetParam()), threads),
                             engine_options, int64_t{limits.num_blocks} * kBlockSize,
                             limits.num_blocks, limits.max_num_seqs);
    CoreOptions core_options = FakeEngine::core_options(limits);
    core_options.vocab_size = loaded.vocab_size;
    EngineCore core(core_options, *loaded.runner);
    for (int32_t i = 0; i < kNumRequests; ++i) {
      core.add(static_cast<RequestId>(i), mixed_request(i, loaded.vocab_size));
    }
    Recorder recorder;
    while (core.has_work()) {
      core.step();
      EXPECT_EQ(find_violation(core.snapshot()), std::nullopt);
      recorder.take(core.take_outputs());
    }
    return {.records = recorder.records, .num_preemptions = core.stats().num_preemptions};
  }

  std::unique_ptr<Checkpoint> checkpoint_;
};

void expect_same(const Records& got, const Records& alone) {
  ASSERT_EQ(got.size(), alone.size());
  for (const auto& [id, record] : got) {
    SCOPED_TRACE(testing::Message() << "request " << id);
    const RequestRecord& expected = alone.at(id);
    ASSERT_EQ(record.choices.size(), expected.choices.size());
    for (const auto& [index, choice] : record.choices) {
      const ChoiceRecord& wanted = expected.choices.at(index);
      ASSERT_EQ(choice.reason, FinishReason::kLength)
          << (choice.error ? choice.error->message : "");
      ASSERT_EQ(choice.tokens, wanted.tokens);
      ASSERT_EQ(choice.logprobs.size(), wanted.tokens.size());
      for (size_t i = 0; i < choice.logprobs.size(); ++i) {
        expect_same_bits(choice.logprobs[i], wanted.logprobs[i]);
      }
    }
    ASSERT_EQ(record.prompt_logprobs.size(), expected.prompt_logprobs.size());
    for (size_t i = 1; i < record.prompt_logprobs.size(); ++i) {
      expect_same_bits(record.prompt_logprobs[i].value(), expected.prompt_logprobs[i].value());
    }
  }
}

TEST_P(ModelTest, TogetherAsAloneUnderAnyLimitsAndPreemption) {
  const Outcome alone =
      run({.num_blocks = 15, .max_num_seqs = 1, .max_num_batched_tokens = kChunkSize + 1}, 1);
  EXPECT_EQ(alone.num_preemptions, 0);
  const Outcome together =
      run({.num_blocks = 1000, .max_num_seqs = 64, .max_num_batched_tokens = 2048}, 2);
  EXPECT_EQ(together.num_preemptions, 0);
  expect_same(together.records, alone.records);
  const Outcome narrow =
      run({.num_blocks = 200, .max_num_seqs = 7, .max_num_batched_tokens = 100}, 1);
  expect_same(narrow.records, alone.records);
  const Outcome scarce =
      run({.num_blocks = 24, .max_num_seqs = 64, .max_num_batched_tokens = 256}, 1);
  EXPECT_GT(scarce.num_preemptions, 5);
  expect_same(scarce.records, alone.records);
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, ModelTest,
    testing::Values(std::tuple("qwen3_5-dense", DType::kF32),
                    std::tuple("qwen3_5-moe", DType::kF32), std::tuple("qwen3_5-moe", DType::kBF16),
                    std::tuple("qwen3_next", DType::kBF16),
                    std::tuple("qwen3_5-wide", DType::kBF16)),  // wide: the real head sizes
    [](const auto& param) {
      std::string name = std::get<std::string>(param.param);
      std::ranges::replace(name, '-', '_');
      return name + (std::get<DType>(param.param) == DType::kF32 ? "_f32" : "_bf16");
    });

// Teacher-forced logprobs of the engine against the model's own greedy choice: the prompt's token
// that follows is scored by the row before it, not by its own.
TEST(ModelEngine, PromptLogprobsScoreTheNextToken) {
  const auto directory = std::filesystem::path(DELTASERVE_TEST_DATA) / "goldens" / "qwen3_5-dense";
  const auto checkpoint = Checkpoint::open(directory).value();
  const std::unique_ptr<Backend> backend = make_cpu_backend(cpu_options(DType::kF32, 1)).value();
  const std::unique_ptr<Model> model = load_model(*checkpoint, *backend).value();
  EngineOptions options;
  options.max_num_seqs = 2;
  options.max_num_batched_tokens = 128;
  options.max_model_len = 256;
  options.max_frame_patches = 0;  // a random model writes placeholders too: here they are text
  const std::unique_ptr<Engine> engine = make_engine(*model, options).value();
  Recorder recorder;  // the engine thread's until stop() has joined it
  engine->start(
      [&recorder](std::vector<RequestOutput>&& outputs) { recorder.take(std::move(outputs)); });
  Request request;
  request.prompt_token_ids = {5, 17, 300, 41, 8};
  request.sampling.temperature = 0.0F;
  request.sampling.max_tokens = 90;
  request.sampling.num_logprobs = 0;
  const RequestId written = engine->submit(request).value();
  engine->stop(60.0);
  const ChoiceRecord choice = recorder.records.at(written).choices.at(0);
  ASSERT_EQ(choice.tokens.size(), 90U);

  const std::unique_ptr<Model> again = load_model(*checkpoint, *backend).value();
  const std::unique_ptr<Engine> scorer = make_engine(*again, options).value();
  scorer->start(
      [&recorder](std::vector<RequestOutput>&& outputs) { recorder.take(std::move(outputs)); });
  recorder.records.clear();
  request.prompt_token_ids.insert(request.prompt_token_ids.end(), choice.tokens.begin(),
                                  choice.tokens.end());
  request.sampling.max_tokens = 1;
  request.prompt_logprobs = 1;
  const RequestId scored = scorer->submit(request).value();
  scorer->stop(60.0);
  const auto& logprobs = recorder.records.at(scored).prompt_logprobs;
  ASSERT_EQ(logprobs.size(), 95U);
  for (size_t i = 0; i < 90; ++i) {
    // Chunked and token by token differ in the last bits, hence a tolerance.
    EXPECT_NEAR(logprobs[5 + i].value().logprob, choice.logprobs[i].logprob, 1e-3);
    EXPECT_NEAR(logprobs[5 + i]->top.at(0).logprob, choice.logprobs[i].logprob, 1e-3);
  }
}

}  // namespace
}  // namespace deltaserve
